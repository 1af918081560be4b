//! Examples of secrets, and of what only looks like one. `~` is left out before a text is read.

use super::rules::{Case, case};

pub(super) static SECRETS: &[Case] = &[
    case(
        "secrets/aws-access-key",
        "python",
        &["k = 'AK~IAQ3EGUR7TNM5V2WXY'", "# AS~IAQ3EGUR7TNM5V2WXY"],
        &["AK~IAIOSFODNN7EXAMPLE", "AK~IAQ3EGUR7TNM5V2WXYZZ"],
    ),
    case(
        "secrets/github-token",
        "python",
        &["gh~p_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", "x = 'gh~s_q8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQi'"],
        &["gh~p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "gh~p_short1"],
    ),
    case(
        "secrets/gitlab-token",
        "yaml",
        &["t: gl~pat-x8Rf_T2mKpX7vYbN4cWd", "# gl~rt-x8RfT2mKpX7vYbN4cWd1"],
        &["gl~pat-xxxxxxxxxxxxxxxxxxxx", "gl~pat-your-token-goes-here"],
    ),
    case(
        "secrets/slack-token",
        "go",
        &[
            "s := \"xo~xb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx\"",
            "// xo~xp-123456789012-998877665544-q8RfT2mKpX7v",
        ],
        &["xo~xb-your-token-here-please-xx", "xo~xb-abc"],
    ),
    case(
        "secrets/slack-webhook",
        "go",
        &[
            "\"https://hooks.sl~ack.com/services/T0AB1CD2E/B0FG3HI4J/q8RfT2mKpX7vYbN4cWdE9hJ5\"",
            "// hooks.sl~ack.com/services/T0AB1CD2E/B0FG3HI4J/z9RfT2mKpX7vYbN4cWdE9hJ5",
        ],
        &["hooks.slack.com/services/TXXXXXXXX/BXXXXXXXX/XXXXXXXXXXXXXXXXXXXXXXXX", "hooks.slack.com/services/T0"],
    ),
    case(
        "secrets/stripe-key",
        "ruby",
        &["k = 'sk_l~ive_q8RfT2mKpX7vYbN4cWdE9hJ5'", "rk_l~ive_q8RfT2mKpX7vYbN4cWdE9hJ5"],
        &["sk_l~ive_xxxxxxxxxxxxxxxxxxxxxxxx", "sk_l~ive_short"],
    ),
    case(
        "secrets/stripe-test-key",
        "ruby",
        &["k = 'sk_t~est_q8RfT2mKpX7vYbN4cWdE9hJ5'", "# sk_t~est_z8RfT2mKpX7vYbN4cWdE9hJ5"],
        &["sk_t~est_xxxxxxxxxxxxxxxxxxxxxxxx", "sk_t~est_1"],
    ),
    case(
        "secrets/google-api-key",
        "javascript",
        &["k = 'AI~zaSyD3q8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6u'", "// AI~zaSyB3q8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6u"],
        &["AI~zaSyD", "AI~zaXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"],
    ),
    case(
        "secrets/anthropic-key",
        "python",
        &[
            "'sk-a~nt-api03-q8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiAA'",
            "# sk-a~nt-api03-z8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiAA",
        ],
        &["sk-a~nt-api03-xxxx", "sk-a~nt-your-key"],
    ),
    case(
        "secrets/openai-key",
        "python",
        &[
            "'sk-q8RfT2mKpX7vYbN4cWdET3Blb~kFJ9hJ5gL1sA6uZ3oQiq8Rf'",
            "# sk-proj-q8RfT2mKpX7vYbN4cWdET3Blb~kFJ9hJ5gL1sA6uZ3oQiq8Rf",
        ],
        &["sk-q8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mK", "sk-xxxx"],
    ),
    case(
        "secrets/npm-token",
        "ini",
        &[
            "//registry/:_authToken=np~m_q8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQi",
            "np~m_z8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQi",
        ],
        &["//registry/:_authToken=${NPM_TOKEN}", "npm_config_registry_is_a_long_name_here_ok"],
    ),
    case(
        "secrets/pypi-token",
        "ini",
        &[
            "password = py~pi-AgEIcHlwaS5vcmcCJq8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mKpX7vYbN4cWdE9",
            "py~pi-AgEIcHlwaS5vcmcCJz8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mKpX7vYbN4cWdE9",
        ],
        &["pypi-AgEIcHlw", "pypi-package-name"],
    ),
    case(
        "secrets/sendgrid-key",
        "go",
        &[
            "\"S~G.q8RfT2mKpX7vYbN4cWdE9h.q8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2m\"",
            "// S~G.z8RfT2mKpX7vYbN4cWdE9h.q8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2m",
        ],
        &["SG.short", "SG.x.y"],
    ),
    case(
        "secrets/twilio-key",
        "go",
        &["\"S~K0123a56789abcdef0123a5c789abcd7f\"", "// S~K1f23a56789abcdef0123a5c789abcd7f"],
        &["SKU0123456789abcdef0123456789abcdef", "SK00000000000000000000000000000000"],
    ),
    case(
        "secrets/huggingface-token",
        "python",
        &["'h~f_qRfTzmKpXavYbNccWdEfhJggLhsAiuZjoQi'", "# h~f_zRfTzmKpXavYbNccWdEfhJggLhsAiuZjoQi"],
        &["hf_hub_download", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"],
    ),
    case(
        "secrets/digitalocean-token",
        "yaml",
        &[
            "t: dop~_v1_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "# dop~_v1_1f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
        ],
        &["dop_v1_", "dop_v1_zzzz"],
    ),
    case(
        "secrets/shopify-token",
        "yaml",
        &["t: shp~at_0f1e2d3c4b5a69788796a5b4c3d2e1f0", "# shp~ss_0f1e2d3c4b5a69788796a5b4c3d2e1f0"],
        &["shpat_00000000000000000000000000000000", "shpat_short"],
    ),
    case(
        "secrets/vault-token",
        "shell",
        &["X=hv~s.CAESIq8RfT2mKpX7vYbN4cWdE9h", "# hv~s.CAESIz8RfT2mKpX7vYbN4cWdE9h"],
        &["hvs.x", "hvs.xxxxxxxxxxxxxxxxxxxxxxxxxxxx"],
    ),
    case(
        "secrets/newrelic-key",
        "yaml",
        &["k: NR~AK-Q8RFT2MKPX7VYBN4CWDE9HJ5GL1", "# NR~AK-Z8RFT2MKPX7VYBN4CWDE9HJ5GL1"],
        &["NRAK-XXXXXXXXXXXXXXXXXXXXXXXXXXX", "NRAK-1"],
    ),
    case(
        "secrets/azure-storage-key",
        "json",
        &[
            "{\"c\": \"AccountName=a;Acc~ountKey=q8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mKpX7vYb==;\"}",
            "Acc~ountKey=z8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mKpX7vYb==",
        ],
        &["AccountKey=abc==", "AccountKey=<key>"],
    ),
    case(
        "secrets/json-web-token",
        "javascript",
        &[
            "t = 'ey~JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U'",
            "// ey~JhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        ],
        &["'eyJhbGciOiJIUzI1NiJ9'", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx"],
    ),
    case(
        "secrets/private-key",
        "text",
        &[
            "-----BEG~IN RSA PRIVATE KEY-----\nMIIEq8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mKpX7vYbN4cWdE9hJ5gL\n-----END RSA PRIVATE KEY-----\n",
            "k: |\n  -----BEG~IN PRIVATE KEY-----\n  MC4CAQAwBQYDK2VwBCIEIq8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2\n  -----END PRIVATE KEY-----",
        ],
        &[
            "-----BEGIN PUBLIC KEY-----\nMIIEq8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mKpX7vYbN4cWdE9hJ5gL\n-----END PUBLIC KEY-----",
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        ],
    ),
    case(
        "secrets/url-password",
        "python",
        &["u = 'postgres://svc:q8RfT~2mK@db.internal/app'", "# mongodb+srv://svc:q8RfT~2mK@db.internal"],
        &["'postgres://user:${PASS}@host/db'", "'https://host:8080/a@b'", "'https://user:<password>@host'"],
    ),
    case(
        "secrets/password-hash",
        "text",
        &[
            "admin:$ap~r1$q8RfT2mK$pX7vYbN4cWdE9hJ5gL1sA6",
            "root:$2~y$10$q8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQiq8RfT2mKpX7vYbN4c",
        ],
        &["$2y$10$", "echo $1$2"],
    ),
    case(
        "secrets/aws-secret-key",
        "python",
        &[
            "aws_secret_access_key = 'q8RfT2~mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQi/+89'",
            "AWS_SECRET = \"z8RfT2~mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQi/+89\"",
        ],
        &["aws_secret_access_key = os.environ['X']", "commit = 'q8RfT2mKpX7vYbN4cWdE9hJ5gL1sA6uZ3oQi/+89'"],
    ),
    case(
        "secrets/generic-assignment",
        "python",
        &["password = 'hun~ter2!'", "API_KEY = \"q8RfT2~mKpX7vYbN4\"", "cfg = {'client_secret': 'q8RfT2~mKpX7vYbN4'}"],
        &[
            "password = 'changeme'",
            "password = os.getenv('P')",
            "password_field = 'hunter2!'",
            "token = 'auth.token.refresh'",
            "max_tokens = '4096'",
            "api_key = 'your-api-key-here1'",
            "secret = '${SECRET}'",
        ],
    ),
    case(
        "secrets/generic-assignment",
        "typescript",
        &["const password: string = 'hun~ter2!';", "const x = { apiKey: 'q8RfT2~mKpX7vYbN4' };"],
        &["const password = `${x}`;", "const passwordLabel = 'Password 1!';"],
    ),
    case(
        "secrets/generic-assignment",
        "dotenv",
        &["DB_PASSWORD=hun~ter2!", "export SECRET_KEY=\"q8RfT2~mKpX7vYbN4\""],
        &["DB_PASSWORD=", "DB_PASSWORD=<password>", "# DB_PASSWORD=hunter2!", "SECRET_KEY=$OTHER"],
    ),
    case(
        "secrets/generic-assignment",
        "yaml",
        &["password: hun~ter2!", "  api_key: q8RfT2~mKpX7vYbN4"],
        &["password: {{ vault }}", "  secretName: q8RfT2mKpX7vYbN4", "password: ${PASS}"],
    ),
];

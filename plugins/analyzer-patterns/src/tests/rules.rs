//! Each rule finds what it is for and leaves alone what only looks like it.

use super::secrets::SECRETS;
use super::{assert_spans_agree, facts_of, findings_of, rules_of};

pub(super) struct Case {
    pub(super) rule: &'static str,
    pub(super) language: &'static str,
    pub(super) path: &'static str,
    pub(super) finds: &'static [&'static str],
    pub(super) leaves: &'static [&'static str],
}

pub(super) const fn case(
    rule: &'static str,
    language: &'static str,
    finds: &'static [&'static str],
    leaves: &'static [&'static str],
) -> Case {
    Case { rule, language, path: "src/a", finds, leaves }
}

const fn at(path: &'static str, case: Case) -> Case {
    Case { path, ..case }
}

static CASES: &[Case] = &[
    case(
        "calls/eval-dynamic",
        "python",
        &["eval(user)", "x = exec(f\"a={b}\")"],
        &["eval('1+1')", "# eval(user)", "s = 'eval(user)'", "model.eval(user)", "def eval(user): return 1"],
    ),
    case(
        "calls/eval-dynamic",
        "javascript",
        &["eval(code)", "new Function(body)", "eval(`a${b}`)"],
        &["eval('1')", "// eval(code)", "`eval(code)`"],
    ),
    case("calls/eval-dynamic", "ruby", &["eval(params[:x])", "obj.instance_eval(code)"], &["eval('1')", "# eval(x)"]),
    case(
        "calls/shell-command-dynamic",
        "python",
        &["os.system(cmd)", "os.popen('ls ' + d)"],
        &["os.system('ls')", "platform.system()", "# os.system(cmd)"],
    ),
    case(
        "calls/shell-command-dynamic",
        "javascript",
        &["child_process.exec(cmd)", "execSync(`rm ${x}`)"],
        &["child_process.exec('ls')", "re.exec(text)", "execSync('git status')"],
    ),
    case(
        "calls/shell-command-dynamic",
        "php",
        &["<?php system($cmd);", "<?php exec(\"ls $dir\");"],
        &["<?php system('ls');", "<?php // system($cmd);"],
    ),
    case(
        "calls/shell-command-dynamic",
        "java",
        &["Runtime.getRuntime().exec(cmd);", "runtime.exec(\"ls \" + d);"],
        &["Runtime.getRuntime().exec(\"ls\");", "executor.exec(task);"],
    ),
    case(
        "calls/shell-command-dynamic",
        "c",
        &["system(buf);", "popen(cmd, \"r\");"],
        &["system(\"ls\");", "/* system(buf); */"],
    ),
    case(
        "calls/unsafe-deserialization",
        "python",
        &["pickle.loads(data)", "marshal.load(f)"],
        &["json.loads(data)", "'pickle.loads(data)'"],
    ),
    case(
        "calls/unsafe-deserialization",
        "php",
        &["<?php unserialize($x);", "<?php $a = unserialize($_GET['a']);"],
        &["<?php unserialize($x, ['allowed_classes' => false]);", "<?php serialize($x);"],
    ),
    case(
        "calls/unsafe-deserialization",
        "csharp",
        &["var f = new BinaryFormatter();", "new SoapFormatter()"],
        &["// new BinaryFormatter()", "new JsonFormatter()"],
    ),
    case(
        "calls/yaml-load",
        "python",
        &["yaml.load(f)", "yaml.unsafe_load(f)"],
        &["yaml.load(f, Loader=yaml.SafeLoader)", "yaml.safe_load(f)"],
    ),
    case(
        "calls/temporary-name",
        "python",
        &["tempfile.mktemp()", "os.tempnam()"],
        &["tempfile.mkstemp()", "# tempfile.mktemp()"],
    ),
    case(
        "calls/weak-password-hash",
        "python",
        &["hashlib.md5(password.encode())", "hashlib.sha1(user_pwd)"],
        &["hashlib.md5(data)", "hashlib.sha256(password)"],
    ),
    case(
        "calls/dom-html",
        "javascript",
        &["document.write(html)", "el.insertAdjacentHTML('beforeend', `<b>${x}</b>`)"],
        &["document.write('<p>')", "stream.write(html)"],
    ),
    case(
        "calls/inner-html",
        "javascript",
        &["el.innerHTML = value;", "<div dangerouslySetInnerHTML={{ __html: body }} />"],
        &["el.innerHTML = '';", "if (el.innerHTML == x) {}", "el.textContent = value;"],
    ),
    case(
        "calls/archive-extract",
        "python",
        &["tar.extractall(p)", "zipfile.ZipFile(f).extractall(p)"],
        &["tar.extractall(p, filter='data')", "tar.extractall(members=m)"],
    ),
    case(
        "calls/template-from-string",
        "python",
        &["render_template_string(t)", "env.from_string(x + y)"],
        &["render_template_string('a')", "render_template(t)"],
    ),
    case(
        "reliability/request-without-timeout",
        "python",
        &["requests.get(url)", "requests.post(url, json={'a': 1})"],
        &["requests.get(url, timeout=3)", "session.get(url)"],
    ),
    case(
        "config/flask-debug",
        "python",
        &["app.run(debug=True)", "app.run(host, debug = True)"],
        &["app.run(debug=False)", "run(debug=True)"],
    ),
    case(
        "calls/include-request-value",
        "php",
        &["<?php include($_GET['p']);", "<?php require($_POST['p'] . '.php');"],
        &["<?php include('a.php');", "<?php include($page);"],
    ),
    case(
        "calls/html-unescaped",
        "python",
        &["mark_safe(x)", "mark_safe('<b>' + x)"],
        &["mark_safe('<b>')", "# mark_safe(x)"],
    ),
    case(
        "calls/extract-request",
        "php",
        &["<?php extract($_GET);", "<?php extract($_POST);"],
        &["<?php extract($row);", "<?php $z->extract($_GET);"],
    ),
    case(
        "calls/send-parameter",
        "ruby",
        &["obj.send(params[:m])", "user.public_send(params['m'], 1)"],
        &["obj.send(:name)", "mail.send(body)"],
    ),
    case(
        "calls/jwt-unverified",
        "python",
        &["jwt.decode(t, verify=False)", "jwt.decode(t, options={'verify_signature': False})"],
        &["jwt.decode(t, key, algorithms=['HS256'])", "base.decode(t, verify=False)"],
    ),
    case(
        "calls/create-cipher",
        "javascript",
        &["crypto.createCipher('aes', k)", "createDecipher(a, k)"],
        &["crypto.createCipheriv('aes-256-gcm', k, iv)", "// createCipher(a)"],
    ),
    case(
        "calls/weak-cipher",
        "java",
        &["Cipher.getInstance(\"DES\");", "Cipher.getInstance(\"AES/ECB/PKCS5Padding\");"],
        &["Cipher.getInstance(\"AES/GCM/NoPadding\");", "KeyGenerator.getInstance(\"AES\");"],
    ),
    case(
        "calls/xml-external-entities",
        "java",
        &["var f = DocumentBuilderFactory.newInstance();", "SAXParserFactory f = SAXParserFactory.newInstance();"],
        &[
            "var f = DocumentBuilderFactory.newInstance();\nf.setFeature(X, true);",
            "import javax.xml.parsers.DocumentBuilderFactory;",
        ],
    ),
    case(
        "calls/go-template-html",
        "go",
        &["template.HTML(s)", "return template.JS(x + y)"],
        &["template.HTML(\"<b>\")", "html.HTML(s)"],
    ),
    case("calls/c-gets", "c", &["gets(buf);", "x = gets(b);"], &["fgets(buf, 10, f);", "obj.gets(x);"]),
    case(
        "calls/c-unbounded-copy",
        "c",
        &["strcpy(a, b);", "sprintf(buf, \"%s\", x);"],
        &["strncpy(a, b, 4);", "snprintf(buf, 4, \"%s\", x);", "\"strcpy(a, b)\""],
    ),
    case(
        "calls/c-scan-string",
        "c",
        &["scanf(\"%s\", b);", "sscanf(s, \"%d %s\", &a, b);"],
        &["scanf(\"%63s\", b);", "scanf(\"%d\", &a);"],
    ),
    case(
        "calls/c-format-string",
        "c",
        &["printf(msg);", "printf(argv[1]);"],
        &["printf(\"%s\", msg);", "printf(USAGE);"],
    ),
    case("calls/c-temporary-name", "c", &["mktemp(t);", "tmpnam(b);"], &["mkstemp(t);", "// mktemp(t)"]),
    case(
        "calls/shell-eval",
        "shell",
        &["eval $cmd", "eval \"$cmd\""],
        &["eval 'x=1'", "# eval $cmd", "eval \"$(ssh-agent)\""],
    ),
    case(
        "reliability/shell-remove-variable",
        "shell",
        &["rm -rf $DIR/", "rm -rf \"${DIR}/bin\""],
        &["rm -rf build/", "rm -rf ${DIR:?}/bin", "rm $FILE"],
    ),
    case(
        "config/pipe-to-shell",
        "shell",
        &["curl -sSf https://a.b/i.sh | sh", "wget -qO- https://a.b | sudo bash"],
        &["curl https://a.b | jq .", "curl https://a.b -o f", "# curl https://a.b | sh"],
    ),
    case(
        "calls/shell-true",
        "python",
        &["subprocess.run(c, shell=True)", "Popen(c, shell = True)"],
        &["subprocess.run(c, shell=False)", "shell == True"],
    ),
    case(
        "calls/weak-random",
        "javascript",
        &["const token = Math.random();", "sessionId = 'a' + Math.random().toString(36)"],
        &["const x = Math.random();", "token = crypto.randomBytes(8)"],
    ),
    case(
        "calls/assert-authorisation",
        "python",
        &["assert user.is_admin", "assert request.user.is_authenticated, 'no'"],
        &["assert x == 1", "if not user.is_admin: raise E"],
    ),
    case(
        "config/tls-verification-off",
        "python",
        &["requests.get(u, verify=False, timeout=1)", "ctx.check_hostname = False"],
        &["requests.get(u, verify=True, timeout=1)", "verify == False"],
    ),
    case(
        "config/tls-verification-off",
        "go",
        &["&tls.Config{InsecureSkipVerify: true}", "c.InsecureSkipVerify = true"],
        &["&tls.Config{InsecureSkipVerify: false}", "// InsecureSkipVerify: true"],
    ),
    case(
        "config/tls-verification-off",
        "javascript",
        &["({ rejectUnauthorized: false })", "process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'"],
        &["({ rejectUnauthorized: true })", "'rejectUnauthorized: false'"],
    ),
    case(
        "config/ssh-host-key-unchecked",
        "go",
        &["ssh.InsecureIgnoreHostKey()", "cb := ssh.InsecureIgnoreHostKey()"],
        &["ssh.FixedHostKey(k)", "// InsecureIgnoreHostKey()"],
    ),
    case(
        "config/template-escaping-off",
        "python",
        &["Environment(autoescape=False)", "E(x, autoescape = False)"],
        &["Environment(autoescape=True)", "# autoescape=False"],
    ),
    case(
        "reliability/swallowed-error",
        "python",
        &["try:\n  a()\nexcept Exception:\n  pass\n", "try:\n  a()\nexcept:\n  pass\n"],
        &["try:\n  a()\nexcept KeyError:\n  pass\n", "try:\n  a()\nexcept Exception:\n  log()\n"],
    ),
    case(
        "reliability/swallowed-error",
        "java",
        &["try { a(); } catch (Exception e) {}", "catch (E e) {\n}"],
        &["catch (E e) { log(e); }", "catch (E e) { /* why */ }"],
    ),
    case(
        "reliability/bare-except",
        "python",
        &["try:\n  a()\nexcept:\n  log()\n", "except :\n  x = 1"],
        &["except ValueError:\n  log()\n", "# except:"],
    ),
    case(
        "concurrency/sleep-in-async",
        "python",
        &["async def f():\n    time.sleep(1)\n", "async def f():\n    if x:\n        time.sleep(1)\n"],
        &[
            "def f():\n    time.sleep(1)\n",
            "async def f():\n    await asyncio.sleep(1)\n",
            "async def f():\n    def g():\n        time.sleep(1)\n",
        ],
    ),
    case(
        "permissions/world-writable",
        "python",
        &["os.chmod(p, 0o777)", "os.chmod(p, 0o666)"],
        &["os.chmod(p, 0o755)", "os.chmod(p, 0o1777)"],
    ),
    case(
        "permissions/world-writable",
        "shell",
        &["chmod 777 a", "chmod -R a+rwx b"],
        &["chmod 755 a", "chmod +x b", "# chmod 777 a"],
    ),
    case(
        "permissions/world-writable",
        "yaml",
        &["    mode: 0777", "    mode: \"0666\""],
        &["    mode: 0644", "    mode: 1777"],
    ),
    case(
        "permissions/public-bucket",
        "terraform",
        &["  acl = \"public-read\"", "  acl = \"public-read-write\""],
        &["  acl = \"private\"", "  # acl = \"public-read\"", "name = \"public-reader\""],
    ),
    case(
        "permissions/privileged-container",
        "yaml",
        &["  privileged: true", "  - privileged: true"],
        &["  privileged: false", "  # privileged: true"],
    ),
    case(
        "permissions/host-namespace",
        "yaml",
        &["  hostNetwork: true", "  allowPrivilegeEscalation: true"],
        &["  hostNetwork: false", "  # hostPID: true"],
    ),
    at(
        ".github/workflows/a.yml",
        case(
            "permissions/workflow-write-all",
            "yaml",
            &["permissions: write-all", "    permissions:  write-all"],
            &["permissions: read-all", "# permissions: write-all"],
        ),
    ),
    at(
        ".github/workflows/a.yml",
        case(
            "config/workflow-injection",
            "yaml",
            &[
                "      - run: echo ${{ github.event.issue.title }}",
                "          echo \"${{ github.event.pull_request.body }}\"",
            ],
            &["          TITLE: ${{ github.event.issue.title }}", "      - run: echo ${{ github.sha }}"],
        ),
    ),
    at(
        "app/settings.py",
        case(
            "config/debug-enabled",
            "python",
            &["DEBUG = True", "A = 1\nDEBUG=True"],
            &["DEBUG = False", "DEBUG = env('DEBUG')", "# DEBUG = True"],
        ),
    ),
    case(
        "config/cors-any-origin-with-credentials",
        "javascript",
        &[
            "cors({ origin: '*', credentials: true })",
            "h('Access-Control-Allow-Origin', '*'); h('Access-Control-Allow-Credentials', 'true')",
        ],
        &["cors({ origin: '*' })", "cors({ origin: 'https://a.b', credentials: true })"],
    ),
    case(
        "permissions/container-socket",
        "yaml",
        &["  - /var/run/docker.sock:/var/run/docker.sock", "  path: /var/run/docker.sock"],
        &["  # - /var/run/docker.sock:/x", "  image: docker"],
    ),
    case(
        "permissions/open-ingress",
        "terraform",
        &["ingress {\n cidr_blocks = [\"0.0.0.0/0\"]\n}", "inbound = \"0.0.0.0/0\""],
        &["egress {\n cidr_blocks = [\"0.0.0.0/0\"]\n}", "route { cidr = \"0.0.0.0/0\" }"],
    ),
    case(
        "conflict/merge-markers",
        "python",
        &["<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n", "x\n<<<<<<< a\n=======\n>>>>>>> b"],
        &["a\n=======\nb", "<<<<<<< HEAD\n>>>>>>> x\n=======\n", " <<<<<<< a\n =======\n >>>>>>> b"],
    ),
    case(
        "calls/sql-built-string",
        "python",
        &[
            "c.execute('SELECT a FROM b WHERE c=' + d)",
            "c.execute(f\"DELETE FROM t WHERE id={i}\")",
            "q = \"SELECT a FROM b WHERE c='%s'\" % d",
        ],
        &["c.execute('SELECT a FROM b WHERE c=%s', (d,))", "c.execute(SQL, (d,))"],
    ),
    case(
        "calls/sql-built-string",
        "javascript",
        &["db.query(`SELECT * FROM a WHERE b = ${c}`)", "db.query('DELETE FROM a WHERE b=' + c)"],
        &["db.query('SELECT * FROM a WHERE b = $1', [c])", "db.query('SELECT a ' + 'FROM b')"],
    ),
    case(
        "calls/sql-built-string",
        "go",
        &["db.Query(fmt.Sprintf(\"SELECT a FROM b WHERE c=%s\", d))", "db.Exec(\"DELETE FROM a WHERE b=\" + c)"],
        &["db.Query(\"SELECT a FROM b WHERE c=$1\", d)", "// db.Exec(\"DELETE FROM a WHERE b=\" + c)"],
    ),
    case(
        "performance/query-in-loop",
        "python",
        &[
            "for x in y:\n    c.execute('SELECT a FROM b WHERE c=%s', x)\n",
            "while a:\n  c.execute('UPDATE a SET b=1')\n",
        ],
        &["c.execute('SELECT a FROM b')", "for x in y:\n    z()\nc.execute('SELECT a FROM b')\n"],
    ),
];

#[test]
fn every_rule_finds_its_positives_and_leaves_its_negatives() {
    let mut wrong = Vec::new();
    for case in CASES.iter().chain(SECRETS) {
        for text in case.finds {
            if !rules_of(case.language, case.path, text).iter().any(|rule| rule == case.rule) {
                wrong.push(format!("{} ({}) missed {text:?}", case.rule, case.language));
            }
            assert_spans_agree(text.replace('~', "").as_bytes(), &facts_of(case.language, case.path, text));
        }
        for text in case.leaves {
            if rules_of(case.language, case.path, text).iter().any(|rule| rule == case.rule) {
                wrong.push(format!("{} ({}) reported {text:?}", case.rule, case.language));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_rule_has_two_examples_of_each_kind() {
    for case in SECRETS {
        assert!(case.finds.len() >= 2 && case.leaves.len() >= 2, "{}", case.rule);
    }
}

#[test]
fn a_secret_is_marked_so_that_the_host_can_mask_it() {
    let found = findings_of("python", "src/a.py", "password = 'hun~ter2!'");
    assert_eq!(found[0].extra, [("secret".to_owned(), "true".to_owned())]);
    assert_eq!(found[0].quote, "hunter2!");
    assert_eq!((found[0].span.start_line, found[0].span.start_column, found[0].span.end_column), (1, 13, 21));
}

#[test]
fn the_checksum_of_a_token_decides_how_sure_the_finding_is() {
    let real = findings_of("python", "src/a.py", "gh~p_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17");
    assert_eq!(real[0].confidence, "high");
    let invented = findings_of("python", "src/a.py", "gh~p_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18");
    assert_eq!(invented[0].confidence, "low");
}

#[test]
fn one_secret_is_reported_once_by_its_most_specific_rule() {
    let found = rules_of("python", "src/a.py", "api_key = 'sk_l~ive_q8RfT2mKpX7vYbN4cWdE9hJ5'");
    assert_eq!(found, ["secrets/stripe-key"]);
}

#[test]
fn findings_of_tests_are_one_step_lower() {
    let shipped = findings_of("python", "src/a.py", "eval(x)");
    let test = findings_of("python", "tests/test_a.py", "eval(x)");
    assert_eq!((shipped[0].severity.as_str(), test[0].severity.as_str()), ("medium", "low"));
}

#[test]
fn conflict_markers_are_found_in_any_language_but_prose() {
    let text = "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n";
    assert_eq!(rules_of("", "x", text), ["conflict/merge-markers"]);
    assert!(rules_of("markdown", "x.md", text).is_empty());
}

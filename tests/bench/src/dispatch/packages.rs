//! Repositories of many small packages, so that each task is a packet and a request of its own.

use std::fs;
use std::io;
use std::path::Path;

use assize_tests::Random;

/// Writes so many packages of one source file each; the same ones for the same numbers. Lengths are lognormal.
///
/// # Errors
/// When a file cannot be written.
pub fn write_packages(dir: &Path, packages: usize, seed: u64) -> io::Result<()> {
    let mut random = Random::new(seed);
    for number in 0..packages {
        let package = dir.join(format!("package-{number:04}"));
        fs::create_dir_all(&package)?;
        // A manifest makes a folder a package of its own.
        let manifest = format!("[project]\nname = \"package-{number:04}\"\nversion = \"0.1.0\"\n");
        fs::write(package.join("pyproject.toml"), manifest)?;
        fs::write(package.join("main.py"), source(number, length(&mut random)))?;
    }
    Ok(())
}

/// Functions of one file, around ten.
fn length(random: &mut Random) -> usize {
    // The sum of twelve uniform numbers less six is as good as normal.
    let normal = (0..12).map(|_| random.draw() as f64 / u64::MAX as f64).sum::<f64>() - 6.0;
    ((2.3 + 0.8 * normal).exp() as usize).clamp(1, 200)
}

fn source(package: usize, functions: usize) -> String {
    let function = |number: usize| {
        format!(
            "def deed_{package}_{number}(value):\n    if value is None:\n        return {number}\n    return value * {package}\n\n\n"
        )
    };
    format!("import os\n\n\n{}", (0..functions).map(function).collect::<String>())
}

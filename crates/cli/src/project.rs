//! Finds the project around a program, and says where its libraries and those of its packages are.
//!
//! A project is found from the program's directory upwards. Running a program fails if its project
//! cannot be used; editors and tools that only read treat such a project as absent. Nothing is
//! fetched here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_lib::evaluation::{EvaluationConfig, ProjectLibraries, is_standard_library};
use canny_lib::features::FEATURES;
use canny_packages::fields::Platform;
use canny_packages::project::{self, Project};
use canny_packages::store::Store;
use canny_packages::tree::NATIVE;
use canny_syntax::span::SourceMap;

use crate::environment::Environment;
use crate::options::Options;
use crate::report;

/// The platform that packages run on: its features and the standard libraries, without other
/// packages.
pub fn platform(features: &[String]) -> Platform {
    let known = FEATURES.iter().map(|feature| (*feature).to_owned());
    Platform {
        features: known.chain(features.iter().cloned()).collect(),
        has_library: is_standard_library,
    }
}

/// Where fetched packages are kept; `None` if there is no place.
pub fn store(environment: &Environment) -> Option<Store> {
    let directory = environment.cache_directory()?;
    Some(Store::new(directory.join("packages")))
}

/// The directory that a program is in; the current one for what is no file.
fn directory_of(program: Option<&Path>) -> PathBuf {
    match program.and_then(Path::parent) {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The project that a program is in, if it is in one and is to use it. A project that cannot be used is
/// reported.
pub fn find(options: &Options, program: Option<&Path>) -> Result<Option<Project>, String> {
    if !options.uses_project {
        return Ok(None);
    }
    let Some(root) = project::find(&directory_of(program)) else {
        return Ok(None);
    };
    let sources = SourceMap::new();
    let platform = platform(&options.features);
    let store = store(options.environment);
    project::open(&sources, &root, store.as_ref(), &platform)
        .map(Some)
        .map_err(|problem| {
            report::diagnostics(&problem.diagnostics, &sources);
            format!(
                "the project in '{}' cannot be used; --no-project runs without it",
                root.display()
            )
        })
}

/// Where a program's libraries are: `directories`, `project` and `features` of a configuration.
pub fn libraries(
    options: &Options,
    program: Option<&Path>,
    project: Option<&Project>,
) -> EvaluationConfig {
    let mut directories = options.first_directories.clone();
    directories.push(directory_of(program));
    if let Some(project) = project {
        directories.extend(project.directories.iter().cloned());
    }
    let directories_before = directories.len();
    let environment = options.environment;
    directories.extend(environment.library_path.iter().cloned());
    directories.extend(options.last_directories.iter().cloned());
    EvaluationConfig {
        directories,
        project: project.map(|project| Arc::new(of_packages(project, directories_before))),
        features: options.features.clone(),
        replaced: options.replaced.clone(),
        optimizer: environment.optimizer.clone(),
        ..EvaluationConfig::default()
    }
}

/// Directories in which a program's libraries are, those of its project and of the packages included,
/// for tools that look at sources. A project that cannot be used has none.
pub fn search_directories(options: &Options, program: Option<&Path>) -> Vec<PathBuf> {
    let project = of_directory(options, &directory_of(program));
    let config = libraries(options, program, project.as_ref());
    let mut directories = config.directories;
    if let (Some(project), Some(libraries)) = (project, config.project) {
        let packages = project.package_directories;
        let before = libraries.directories_before;
        directories.splice(before..before, packages);
    }
    directories
}

/// The directories of the libraries of the project that one stands in; nothing if it is none, or cannot
/// be used.
pub fn own_directories(options: &Options) -> Option<Vec<PathBuf>> {
    let project = of_directory(options, Path::new("."))?;
    Some(project.directories)
}

/// The project that a directory is in, for editors: its directories and those of its packages, and the
/// libraries of packages, as absolute paths. There is nothing in it if there is no project, or it
/// cannot be used.
pub fn around(directory: &Path, environment: &'static Environment) -> canny_lsp::Project {
    let Some(project) = of_directory(&Options::new(environment), directory) else {
        return canny_lsp::Project::default();
    };
    let absolute = |path: PathBuf| std::path::absolute(path).ok();
    let libraries = project.libraries.into_iter();
    let libraries = libraries.filter_map(|(name, file)| Some((name, absolute(file)?)));
    let libraries = libraries.collect();
    let all = project
        .directories
        .into_iter()
        .chain(project.package_directories);
    canny_lsp::Project {
        directories: all.filter_map(absolute).collect(),
        libraries,
    }
}

/// The libraries of packages that a program may use, by their printed names, with their files.
pub fn package_libraries(options: &Options, program: &Path) -> HashMap<String, PathBuf> {
    let project = of_directory(options, &directory_of(Some(program)));
    let libraries = project.map_or_else(Vec::new, |project| project.libraries);
    libraries.into_iter().collect()
}

/// The project that a directory is in; nothing is said of one that cannot be used.
fn of_directory(options: &Options, directory: &Path) -> Option<Project> {
    let root = project::find(directory).filter(|_| options.uses_project)?;
    let platform = platform(&options.features);
    let store = store(options.environment);
    project::open(&SourceMap::new(), &root, store.as_ref(), &platform).ok()
}

fn of_packages(project: &Project, directories_before: usize) -> ProjectLibraries {
    let unusable = |(library, package, reason): &(String, String, String)| {
        let why = match reason.as_str() {
            NATIVE => "but it needs compiled C, which Canny cannot load",
            _ => "but in the form of R6RS, which Canny cannot use",
        };
        (
            library.clone(),
            format!("the package {package} has it, {why}"),
        )
    };
    ProjectLibraries {
        directories_before,
        files: project.libraries.iter().cloned().collect(),
        unusable: project.unusable.iter().map(unusable).collect(),
        advice: vec![format!(
            "no package of the project `{}` has it: `canny add SOURCE` adds one to `{}`",
            project.name,
            project::inside(&project.root, canny_packages::MANIFEST_FILE).display()
        )],
    }
}

/// Where the libraries of a program are that is compiled or looked at, with the project around it.
pub fn configuration(options: &Options, program: &Path) -> Result<EvaluationConfig, String> {
    let project = find(options, Some(program))?;
    Ok(libraries(options, Some(program), project.as_ref()))
}

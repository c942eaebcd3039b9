/** The files of a folder that belong to tools. A browser does not send them, and an import does not read them. */

/** Names that begin with a dot, and are about the folder itself. `..` is refused elsewhere. */
const kept: ReadonlySet<string> = new Set(['.', '..', '.grove', '.groveignore', '.gitignore'])

/** Folders of tools whose names do not begin with a dot. Archives that macOS makes have the second. */
const tools: ReadonlySet<string> = new Set(['node_modules', '__MACOSX'])

/** True for a file with such a name, or below such a folder. @param path separated by `/` */
export function isHiddenPath(path: string): boolean {
  return path.split('/').some((name) => (name.startsWith('.') && !kept.has(name)) || tools.has(name))
}

/**
 * The delimiters of front matter: one grammar, which readers apply more or less strictly.
 *
 * It also runs in browsers, so it imports nothing. The search has a copy (index/search/text/prose.ts), and
 * test/search/grammar.test.ts compares the two.
 */

const opening = '---[ \\t]*\\r?\\n'
/** Without a key or a comment on the next line, `---` is a thematic break. */
const key = '(?=[\\w-]{1,100}[ \\t]*:|#)'
const mark = '(?:---|\\.\\.\\.)'
const lineEnd = '[ \\t]*(?:\\r?\\n|(?![\\s\\S]))'

const yamlOpening = new RegExp(`^${opening}`)
const yamlClosing = new RegExp(`^${mark}${lineEnd}`, 'm')

interface YamlLines {
  /** The offsets at which the YAML begins and ends. */
  readonly start: number
  readonly end: number
  /** The offset at which the Markdown begins. */
  readonly body: number
}

/**
 * Finds possible YAML front matter. No key is needed, so a YAML parser must confirm it.
 *
 * @param longest UTF-16 units after the opening line
 */
export function yamlLines(text: string, longest: number): YamlLines | undefined {
  const start = yamlOpening.exec(text)?.[0].length
  const closing = start === undefined ? null : yamlClosing.exec(text.slice(start, start + longest))
  if (start === undefined || closing === null) return undefined
  const end = start + closing.index
  return { start, end, body: end + closing[0].length }
}

/** True if a text begins with TOML front matter, between lines of `+++`. */
export function beginsWithToml(text: string): boolean {
  return /^\+\+\+[ \t]*\r?\n/.test(text)
}

const headOpening = new RegExp(`^(?:(\\+\\+\\+)[ \\t]*\\r?\\n|${opening}${key})`)
const tomlEnd = new RegExp(`\\n\\+\\+\\+${lineEnd}`)
const yamlEnd = new RegExp(`\\n${mark}${lineEnd}`)
/** UTF-16 units in which front matter must end. */
const longestHead = 65_536

/** Returns the end of front matter, which is not searched for links. Front matter is YAML with a key, or TOML. */
export function headEnd(text: string): number {
  const found = headOpening.exec(text)
  const end = found && (found[1] === undefined ? yamlEnd : tomlEnd).exec(text.slice(0, longestHead))
  return end ? end.index + end[0].length : 0
}

/** The front matter that a page hides. If the first line of `---` or `...` has more on it, the page shows all. */
const shownHead = new RegExp(`^${opening}${key}(?:(?!${mark})[^\\n]*\\n){0,2000}${mark}${lineEnd}`)

/** Returns the text that a page shows: without YAML front matter. */
export function withoutHead(text: string): string {
  return text.replace(shownHead, '')
}

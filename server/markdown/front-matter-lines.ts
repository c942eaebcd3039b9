/**
 * The lines between which front matter stands: one grammar, and how strictly each reader takes it. Runs in browsers, too: it
 * imports nothing. The search has a copy (index/search/text/prose.ts), and test/search/grammar.test.ts compares the two.
 */

const opening = '---[ \\t]*\\r?\\n'
/** Without a key or a comment on the next line, `---` is a rule. */
const key = '(?=[\\w-]{1,100}[ \\t]*:|#)'
const mark = '(?:---|\\.\\.\\.)'
const lineEnd = '[ \\t]*(?:\\r?\\n|(?![\\s\\S]))'

const yamlOpening = new RegExp(`^${opening}`)
const yamlClosing = new RegExp(`^${mark}${lineEnd}`, 'm')

interface YamlLines {
  /** Where the YAML begins and ends. */
  readonly start: number
  readonly end: number
  /** Where the Markdown begins. */
  readonly body: number
}

/**
 * The front matter that a note may have, as YAML still has to confirm: no key is needed.
 *
 * @param longest units after the opening line
 */
export function yamlLines(text: string, longest: number): YamlLines | undefined {
  const start = yamlOpening.exec(text)?.[0].length
  const closing = start === undefined ? null : yamlClosing.exec(text.slice(start, start + longest))
  if (start === undefined || closing === null) return undefined
  const end = start + closing.index
  return { start, end, body: end + closing[0].length }
}

/** Whether a text begins with front matter in TOML, between lines of `+++`. */
export function beginsWithToml(text: string): boolean {
  return /^\+\+\+[ \t]*\r?\n/.test(text)
}

const headOpening = new RegExp(`^(?:(\\+\\+\\+)[ \\t]*\\r?\\n|${opening}${key})`)
const tomlEnd = new RegExp(`\\n\\+\\+\\+${lineEnd}`)
const yamlEnd = new RegExp(`\\n${mark}${lineEnd}`)
/** UTF-16 units in which a head ends. */
const longestHead = 65_536

/** The end of front matter, in which no link is looked for: YAML with a key, or TOML. 0 if there is none. */
export function headEnd(text: string): number {
  const found = headOpening.exec(text)
  const end = found && (found[1] === undefined ? yamlEnd : tomlEnd).exec(text.slice(0, longestHead))
  return end ? end.index + end[0].length : 0
}

/** A page shows a text whole if its first line of `---` or `...` has more on it. */
const shownHead = new RegExp(`^${opening}${key}(?:(?!${mark})[^\\n]*\\n){0,2000}${mark}${lineEnd}`)

/** The text that a page shows: without a head in YAML. */
export function withoutHead(text: string): string {
  return text.replace(shownHead, '')
}

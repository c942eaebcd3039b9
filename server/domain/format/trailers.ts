/** Trailers of commit messages, placed and found as git-interpret-trailers(1) reads them. */
import { invalid } from '../../base/errors.ts'
import { type ClaimedVia, parseTrailer } from '../via.ts'

const key = 'Grove-Via'

/** A line that git may read as this trailer. */
const ownLine = /^grove-via[ \t]*:/im

/** Git ignores this line and what follows it. */
const scissors = `# ${'-'.repeat(24)} >8 ${'-'.repeat(24)}`

/** A line that makes git accept a paragraph which is not only trailers. */
const generated = /^(?:Signed-off-by: |\(cherry picked from commit )/

/** The subject of a commit without one. Git reads no trailers in a subject. */
const noSubject = 'No message'

/** Refuses a message with a line of this trailer, which only the service writes. @throws ValidationError */
export function refuseOwnVia(loc: readonly (string | number)[], message: string): void {
  if (ownLine.test(message.replace(/\r\n?/g, '\n')))
    throw invalid(loc, `The service writes the trailer \`${key}\`. Remove the line from the message`, message)
}

/**
 * Returns the message with the trailer. A message that has one keeps it: it says who wrote the commit first. Undefined:
 * the message stays as it is.
 */
export function withVia(message: string, value: string | undefined): string {
  if (value === undefined || viaOfMessage(message) !== undefined) return message
  return withTrailers(message, [`${key}: ${value}`])
}

/** Returns the message with more trailers, where git reads them. Scissors and a list of conflicts stay below them. */
export function withTrailers(message: string, added: readonly string[]): string {
  const { lines, start, end } = findTrailers(message)
  // Keeps spaces at the end of the last line. Without them it could become scissors, which hide what follows.
  const kept = lines.slice(0, end).findLastIndex((line) => line.trim() !== '') + 1
  const subject = lines.slice(0, kept).join('\n') || noSubject
  const separator = start === end ? '\n\n' : '\n'
  // A tab continues a list of conflicts.
  const tail = lines
    .slice(end)
    .join('\n')
    .replace(/^\s*\n/, '')
  return `${subject}${separator}${added.join('\n')}${tail.trim() === '' ? '' : `\n\n${tail}`}`
}

/** Returns what the last trailer of this kind says. Undefined without one, or if the service would not have written it. */
export function viaOfMessage(message: string): ClaimedVia | undefined {
  if (!ownLine.test(message)) return undefined
  const { lines, start, end } = findTrailers(message)
  const line = lines.slice(start, end).findLast((one) => ownLine.test(one))
  return line === undefined ? undefined : parseTrailer(line.replace(/^[^:]*:/, '').trim())
}

/** A line that git may read as the trailer of a co-author. */
const coAuthorLine = /^co-authored-by[ \t]*:/im

/** Returns the values of trailers that name co-authors. */
export function coAuthorsOf(message: string): string[] {
  if (!coAuthorLine.test(message)) return []
  const { lines, start, end } = findTrailers(message)
  const text = lines.slice(start, end).join('\n')
  const unfolded = text.replace(/\n[ \t]+/g, ' ').split('\n')
  const named = unfolded.filter((line) => coAuthorLine.test(line))
  return named.map((line) => line.replace(/^[^:]*:/, ''))
}

/** Returns the e-mail address of a co-author. Undefined without one. */
export function emailOfCoAuthor(value: string): string | undefined {
  return /<([^<>]+)>/.exec(value)?.[1]
}

/** The lines of a message. Git reads those from `start` to `end` as trailers. */
interface Trailers {
  readonly lines: readonly string[]
  readonly start: number
  readonly end: number
}

/** Finds the trailers: the last paragraph, not the first one. Without trailers, both places are where text ends. */
function findTrailers(message: string): Trailers {
  const lines = message
    .replace(/[\r\0]/g, '')
    .replace(/^\n+/, '')
    .split('\n')
  const cut = lines.indexOf(scissors)
  const text = cut === -1 ? lines : lines.slice(0, cut)
  const searched = text.slice(0, searchedLines(text))
  const end = searched.findLastIndex((line) => !isBlank(line) && !line.startsWith('#')) + 1
  const start = searched.slice(0, end).findLastIndex(isBlank) + 1
  if (start > 0 && isTrailers(searched.slice(start, end))) return { lines, start, end }
  return { lines, start: text.length, end: text.length }
}

/** Returns how many lines git searches. It skips comments, blank lines and a list of conflicts at the end. */
function searchedLines(lines: readonly string[]): number {
  // 0 means that no skipped lines have begun, as in git, so the first line is always searched.
  let end = 0
  let inConflicts = false
  for (const [at, line] of lines.entries()) {
    const isConflicts = line === 'Conflicts:'
    inConflicts ||= isConflicts
    if (line === '' || line.startsWith('#') || isConflicts) end ||= at
    else if (end > 0 && !(inConflicts && line.startsWith('\t'))) {
      end = 0
      inConflicts = false
    }
  }
  return end || lines.length
}

function isBlank(line: string): boolean {
  return /^[ \t]*$/.test(line)
}

/** True if git reads the paragraph as trailers. */
function isTrailers(block: readonly string[]): boolean {
  let [trailers, others] = [0, 0]
  let isOfTrailer = false
  for (const line of block) {
    const isContinued = /^[ \t]/.test(line)
    if (line.startsWith('#')) {
      isOfTrailer = false
      continue
    }
    if (!isContinued) isOfTrailer = generated.test(line) || /^[A-Za-z0-9-]+[ \t]*:/.test(line)
    if (!isOfTrailer) others++
    else if (!isContinued) trailers++
  }
  return trailers > 0 && (others === 0 || (block.some((line) => generated.test(line)) && trailers * 3 >= others))
}

/** The trailer `Grove-Via` of commit messages, placed and found as git-interpret-trailers(1) reads trailers. */
import { invalid } from '../../base/errors.ts'
import { type ClaimedVia, parseTrailer } from '../via.ts'

const key = 'Grove-Via'

/** A line that git may read as this trailer. */
const ownLine = /^grove-via[ \t]*:/im

/** Git ignores this line and what follows it. */
const scissors = /^# -{24} >8 -{24}$/m

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
  const text = message.replace(/[\r\0]/g, '')
  const cut = scissors.exec(text)?.index ?? text.length
  const head = text.slice(0, cut).replace(/^\n+|[ \t\n]+$/g, '')
  const subject = head.trim() === '' ? noSubject : head
  const separator = trailerBlock(subject) === undefined ? '\n\n' : '\n'
  const tail = cut === text.length ? '' : `\n\n${text.slice(cut)}`
  return `${subject}${separator}${key}: ${value}${tail}`
}

/** Returns what the last trailer of this kind says. Undefined without one, or if the service would not have written it. */
export function viaOfMessage(message: string): ClaimedVia | undefined {
  if (!ownLine.test(message)) return undefined
  const text = message.replace(/\r/g, '')
  const cut = scissors.exec(text)?.index ?? text.length
  const lines = trailerBlock(text.slice(0, cut)) ?? []
  const line = lines.findLast((one) => ownLine.test(one))
  return line === undefined ? undefined : parseTrailer(line.replace(/^[^:]*:/, '').trim())
}

/** Returns the lines of the last paragraph, if git reads it as trailers. It is not the first one. */
function trailerBlock(text: string): readonly string[] | undefined {
  const lines = text.replace(/^\n+|[ \t\n]+$/g, '').split('\n')
  const start = lines.findLastIndex((line) => isBlank(line)) + 1
  if (start === 0) return undefined
  const block = lines.slice(start)
  return isTrailers(block) ? block : undefined
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

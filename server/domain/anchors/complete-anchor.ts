/** Checks the anchor of a new comment against its file, and completes it. */
import { findEntry, type TreeEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { invalid } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'
import { findTree } from '../branches/revisions.ts'
import type { Anchor, AnchorInput } from '../format/anchors.ts'
import { parseBounded, parsePointer, valueAt } from '../format/json-pointer.ts'
import { type LineRange, linesOf } from '../format/line-map.ts'
import { agreement, maxOccurrences, type Quote, SearchableLines, surroundingsOf } from '../format/quotes.ts'
import { fits } from '../format/text-rules.ts'
import { hasText, readText } from './anchored-files.ts'

type Loc = readonly (string | number)[]

/** Characters of a JSON pointer. */
const maxPointer = 1_000

/**
 * Returns the anchor to store. Checks that the file has the lines, the quote or the value. A quote without lines is
 * searched in the whole file, and must be there once.
 *
 * @param loc the place of the anchor in the request
 * @throws ValidationError
 * @throws GitError object_damaged, and the other errors of readBlob
 */
export async function completeAnchor(repo: Repo, input: AnchorInput, loc: Loc): Promise<Anchor> {
  const { path, first_line, num_lines, pointer } = input
  const commit: Oid = input.commit
  const quote = input.quote && cleanQuote(input.quote, [...loc, 'quote'])
  const hasLines = first_line !== undefined || num_lines !== undefined || quote !== undefined
  if (pointer !== undefined && hasLines)
    throw invalid([...loc, 'pointer'], 'An anchor has lines or a pointer, not both. Send one of them', pointer)
  const entry = await requireFile(repo, commit, path, loc)
  if (pointer !== undefined) {
    await requireValue(repo, entry, path, pointer, loc)
    return { commit, path, pointer }
  }
  if (!hasLines) return { commit, path }
  if (first_line === undefined && num_lines !== undefined)
    throw invalid([...loc, 'num_lines'], 'num_lines counts lines from first_line. Send first_line as well', num_lines)
  const lines = linesOf(await requireText(repo, entry, path, 'lines', loc))
  if (first_line !== undefined) requireLines(lines.length, first_line, num_lines ?? 1, loc)
  return { commit, path, ...anchoredLines(lines, { first_line, num_lines, quote }, loc) }
}

async function requireFile(repo: Repo, commit: Oid, path: string, loc: Loc): Promise<TreeEntry> {
  const tree = await findTree(repo, commit)
  if (tree === null) throw invalid([...loc, 'commit'], `There is no commit ${excerpt(commit)}`, commit)
  const entry = await findEntry(repo, tree, path)
  if (!entry) throw invalid([...loc, 'path'], `The commit has no file ${excerpt(path)}`, path)
  if (entry.mode === '040000')
    throw invalid([...loc, 'path'], `${excerpt(path)} is a folder. Send the path of a file`, path)
  return entry
}

const lacks = {
  binary: 'is not text',
  too_large: 'has over 1 MiB or 20,000 lines',
  '120000': 'is a symbolic link',
  '160000': 'is a submodule',
} as const

/** @param loc of the anchor. `part` is the part of it that needs text */
async function requireText(
  repo: Repo,
  entry: TreeEntry,
  path: string,
  part: 'lines' | 'pointer',
  loc: Loc,
): Promise<string> {
  const { mode, oid } = entry
  const file = hasText(entry) ? await readText(repo, oid) : { lack: mode as '120000' | '160000' }
  if ('text' in file) return file.text
  throw invalid(
    [...loc, 'path'],
    `${excerpt(path)} ${lacks[file.lack]}, so a comment cannot have ${part === 'lines' ? 'lines' : 'a pointer'} there. Send only its path to comment on the whole file`,
    path,
  )
}

async function requireValue(repo: Repo, entry: TreeEntry, path: string, pointer: string, loc: Loc): Promise<void> {
  const at = [...loc, 'pointer']
  if (!path.endsWith('.json'))
    throw invalid(at, `A pointer needs a file whose name ends with .json, and ${excerpt(path)} does not`, pointer)
  const steps = fits(pointer, maxPointer) ? parsePointer(pointer) : undefined
  if (!steps)
    throw invalid(
      at,
      'A pointer is a JSON pointer of at most 1,000 characters, such as /properties/status. ~0 means ~, and ~1 means /',
      pointer,
    )
  const json = parseBounded(await requireText(repo, entry, path, 'pointer', loc))
  if (json === undefined)
    throw invalid(
      at,
      `${excerpt(path)} is not valid JSON of at most 100 levels. Send lines instead of a pointer`,
      pointer,
    )
  if (valueAt(json, steps) === undefined)
    throw invalid(at, `${excerpt(path)} has no value at ${excerpt(pointer)}`, pointer)
}

function cleanQuote({ exact, prefix, suffix }: NonNullable<AnchorInput['quote']>, loc: Loc): Quote {
  if (!/[^\s]/u.test(exact))
    throw invalid([...loc, 'exact'], 'A quote has at least one character that is not white space', exact)
  if (!fits(exact, limits.quote)) throw invalid([...loc, 'exact'], 'A quote has at most 1,000 characters', exact)
  for (const [name, text = ''] of Object.entries({ prefix, suffix }))
    if (!fits(text, limits.quoteContext))
      throw invalid([...loc, name], `The ${name} of a quote has at most ${limits.quoteContext} characters`, text)
  return { exact, ...(prefix ? { prefix: whole(prefix) } : {}), ...(suffix ? { suffix: whole(suffix) } : {}) }
}

/** Removes halves of characters, which clients that count UTF-16 units leave at the ends. */
function whole(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '')
}

function requireLines(have: number, first_line: number, num_lines: number, loc: Loc): void {
  if (!Number.isInteger(num_lines) || num_lines < 1 || num_lines > limits.anchorLines)
    throw invalid([...loc, 'num_lines'], `An anchor has 1 to ${limits.anchorLines} lines`, num_lines)
  const isFirst = Number.isInteger(first_line) && first_line >= 1 && first_line <= have
  if (isFirst && first_line + num_lines - 1 <= have) return
  const [name, value] = isFirst ? (['num_lines', num_lines] as const) : (['first_line', first_line] as const)
  throw invalid(
    [...loc, name],
    `The file has ${have === 1 ? '1 line' : `${have} lines`}. The anchor must be within them`,
    value,
  )
}

interface WantedLines {
  readonly first_line: number | undefined
  readonly num_lines: number | undefined
  readonly quote: Quote | undefined
}

/** The lines of the anchor. The quote gives those that the request lacks. */
function anchoredLines(lines: readonly string[], { first_line, num_lines, quote }: WantedLines, loc: Loc) {
  if (!quote) return { first_line: first_line ?? 1, num_lines: num_lines ?? 1 }
  const search = new SearchableLines(lines)
  const at = [...loc, 'quote']
  if (first_line !== undefined && num_lines !== undefined) {
    const range = { from: first_line - 1, to: first_line - 1 + num_lines }
    if (search.find(quote, range).length > 0) return { first_line, num_lines, quote }
    throw invalid(at, 'The quote is not in these lines. Quote the text of the file, without its rendering', quote)
  }
  const { from, to } = first_line === undefined ? onlyOne(search, quote, at) : onLine(search, quote, first_line, at)
  if (to - from > limits.anchorLines) throw invalid(at, `The quote takes more than ${limits.anchorLines} lines`, quote)
  return { first_line: from + 1, num_lines: to - from, quote }
}

/** The lines of all occurrences that begin on a line. */
function onLine(search: SearchableLines, quote: Quote, first_line: number, at: Loc): LineRange {
  const from = first_line - 1
  const range = { from, to: Math.min(from + limits.anchorLines, search.lines.length) }
  const found = search.find(quote, range).filter((one) => one.from === from)
  if (found.length === 0)
    throw invalid(at, `The quote does not begin on line ${first_line}. Send num_lines as well`, quote)
  return { from, to: Math.max(...found.map(({ to }) => to)) }
}

/** The lines of the only occurrence. If there are several, prefix and suffix must select one. */
function onlyOne(search: SearchableLines, quote: Quote, at: Loc): LineRange {
  const found = search.find(quote, { from: 0, to: search.lines.length })
  const around = surroundingsOf(quote)
  const most = around.prefix.length + around.suffix.length
  const same = found.length > 1 && most > 0 ? found.filter((one) => agreement(around, one) === most) : found
  const [one, another] = same
  if (one && !another && found.length <= maxOccurrences) return one
  if (found.length === 0)
    throw invalid(at, 'The quote is not in the file. Quote the text of the file, without its rendering', quote)
  const times = found.length > maxOccurrences ? `over ${maxOccurrences}` : found.length
  throw invalid(at, `The quote is in the file ${times} times; give first_line`, quote)
}

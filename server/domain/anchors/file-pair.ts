/** A file at the commit of an anchor, and the same file now. It is read and compared at most once. */
import { createCache } from '../../../gitstore/caching/caches.ts'
import type { TreeEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { type PlacedLines, TextChange } from '../format/anchors.ts'
import { isSameJson, parseBounded, parsePointer, rangeOfValue, valueAt } from '../format/json-pointer.ts'
import { type LineMap, type LineRange, linesOf, shiftLines } from '../format/line-map.ts'
import type { Quote } from '../format/quotes.ts'
import { readKeptText, readText } from './anchored-files.ts'

interface KnownMap {
  readonly map: LineMap
  /** The number of lines before. */
  readonly lines: number
}

/** Line maps by the ids of two blobs, which never change. */
const maps = createCache<KnownMap>('line_maps', {
  sizeCalculation: ({ map }) => 500 + 150 * map.hunks.length,
})

interface Texts {
  readonly before: string
  readonly after: string
}

/** The values of JSON files, and the text of the later one. */
interface Values {
  readonly before: unknown
  readonly after: unknown
  readonly text: string
}

export class FilePair {
  readonly before: TreeEntry
  readonly after: TreeEntry
  readonly #repo: Repo
  #texts: Promise<Texts | undefined> | undefined
  #change: Promise<TextChange | undefined> | undefined
  #values: Promise<Values | undefined> | undefined

  constructor(repo: Repo, before: TreeEntry, after: TreeEntry) {
    this.#repo = repo
    this.before = before
    this.after = after
  }

  /** True if the files were read. */
  get hasRead(): boolean {
    return this.#texts !== undefined
  }

  /** Places lines. Undefined if a version is not text, too large or missing, or has no such lines. */
  async placeLines(range: LineRange, quote?: Quote): Promise<PlacedLines | undefined> {
    if (range.from < 0 || range.from >= range.to) return undefined
    if (this.before.oid === this.after.oid) return { isOutdated: false, lines: range }
    const known = maps.get(this.#key())
    if (known && range.to > known.lines) return undefined
    const lines = known && shiftLines(known.map, range)
    if (lines) return { isOutdated: false, lines }
    this.#change ??= this.#compare()
    const change = await this.#change
    return change && range.to <= change.linesBefore ? change.place(range, quote) : undefined
  }

  /** Compares a value. `near` is its line now, or that of the closest value around it. Undefined if a version is not text, too large or missing, or had no such value. */
  async placePointer(pointer: string): Promise<{ isSame: boolean; near: number | undefined } | undefined> {
    if (this.before.oid === this.after.oid) return { isSame: true, near: undefined }
    const steps = parsePointer(pointer)
    this.#values ??= this.#parse()
    const values = await this.#values
    const before = steps && values && valueAt(values.before, steps)
    if (!values || !steps || before === undefined) return undefined
    const isSame = isSameJson(before, valueAt(values.after, steps))
    return { isSame, near: isSame ? undefined : lineOfValue(values, steps) }
  }

  #key(): string {
    return `${this.before.oid}:${this.after.oid}`
  }

  async #compare(): Promise<TextChange | undefined> {
    const texts = await this.#read()
    if (!texts) return undefined
    const before = linesOf(texts.before)
    const change = new TextChange(before, linesOf(texts.after), maps.get(this.#key())?.map)
    maps.set(this.#key(), { map: change.map, lines: before.length })
    return change
  }

  async #parse(): Promise<Values | undefined> {
    const texts = await this.#read()
    return texts && { before: parseBounded(texts.before), after: parseBounded(texts.after), text: texts.after }
  }

  #read(): Promise<Texts | undefined> {
    this.#texts ??= readTexts(this.#repo, this.before.oid, this.after.oid)
    return this.#texts
  }
}

/** The line of a value; the first line if the text is not JSON. */
function lineOfValue({ after, text }: Values, steps: readonly string[]): number | undefined {
  if (text === '') return undefined
  return after === undefined ? 0 : linesOf(text.slice(0, rangeOfValue(text, steps).from + 1)).length - 1
}

async function readTexts(repo: Repo, one: Oid, other: Oid): Promise<Texts | undefined> {
  const before = await readKeptText(repo, one)
  if (!before || !('text' in before)) return undefined
  const after = await readText(repo, other)
  return 'text' in after ? { before: before.text, after: after.text } : undefined
}

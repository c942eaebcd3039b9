/** Distinct texts of a column by number, with the order in which lists sort them. */

import { foldCase } from '../fold-case.ts'
import { comparePoints } from './values.ts'

/** Estimated bytes of a text besides its characters. It has two map entries, and places in arrays. */
const bytesEach = 120

export class RankedTexts {
  private readonly codes = new Map<string, number>()
  private readonly texts: string[] = []
  private readonly folds: string[] = []
  /** The rank of each text by code. Texts that differ only in case have the same. Empty until the first question. */
  private ranks: number[] = []
  /** Distinct folded texts in their order, and their ranks. */
  private sorted: string[] = []
  private sortedRanks: number[] = []
  private isSorted = false
  private characters = 0

  get size(): number {
    return this.texts.length
  }

  /** Estimates the memory in bytes. */
  get bytes(): number {
    return 2 * this.characters + bytesEach * this.size
  }

  /** Returns the number of a text, which it gets now if it is new. */
  codeOf(text: string): number {
    const known = this.codes.get(text)
    if (known !== undefined) return known
    const code = this.texts.length
    const fold = foldCase(text)
    this.codes.set(text, code)
    this.texts.push(text)
    // Both lists then share one string.
    this.folds.push(fold === text ? text : fold)
    this.characters += fold === text ? text.length : text.length + fold.length
    if (this.isSorted) this.rankLast(fold)
    return code
  }

  textAt(code: number): string {
    return this.texts[code] ?? ''
  }

  /** Returns the text without case. */
  foldAt(code: number): string {
    return this.folds[code] ?? ''
  }

  /** Returns the rank of each text by code. A text with a lower rank sorts before. The next new text may change it. */
  ranked(): readonly number[] {
    if (!this.isSorted) this.sortAll()
    return this.ranks
  }

  private sortAll(): void {
    this.sorted = [...new Set(this.folds)].sort(comparePoints)
    this.renumber()
    this.isSorted = true
  }

  /** Gives whole numbers to all. */
  private renumber(): void {
    this.sortedRanks = this.sorted.map((_, n) => n)
    const rankOf = new Map(this.sorted.map((fold, n) => [fold, n]))
    this.ranks = this.folds.map((fold) => rankOf.get(fold) ?? 0)
  }

  /** Ranks the newest text. Its rank is between its neighbours, or all are numbered again. */
  private rankLast(fold: string): void {
    const at = this.placeOf(fold)
    if (this.sorted[at] === fold) {
      this.ranks.push(this.sortedRanks[at] ?? 0)
      return
    }
    const [before, after] = [this.sortedRanks[at - 1], this.sortedRanks[at]]
    const rank = between(before, after)
    this.sorted.splice(at, 0, fold)
    this.sortedRanks.splice(at, 0, rank)
    if (rank === before || rank === after) this.renumber()
    else this.ranks.push(rank)
  }

  /** Returns the first place whose text does not sort before this one. */
  private placeOf(fold: string): number {
    let low = 0
    let high = this.sorted.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (comparePoints(this.sorted[middle] ?? '', fold) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Returns a number between two. It equals one of them if doubles have none in between. */
function between(before: number | undefined, after: number | undefined): number {
  if (before === undefined) return (after ?? 0) - 1
  return after === undefined ? before + 1 : (before + after) / 2
}

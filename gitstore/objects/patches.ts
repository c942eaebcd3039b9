/**
 * Reads differences between two trees as text: hunks, or a patch. `git diff-tree` makes them, and the repository's
 * configuration has no influence. Its output is parsed piece by piece, and a bounded part of it is kept.
 */

import { isUtf8 } from 'node:buffer'
import { GitError } from '../errors.ts'
import { askGit, type GitReading } from '../git-questions.ts'
import * as limits from '../limits.ts'
import { isOid, type Oid, type Repo } from '../repo.ts'
import { decodeName } from './tree-names.ts'
import { emptyTree } from './trees.ts'

/** Bytes of Git's output that are read for hunks: about 2 s. */
const maxReadBytes = 256 * 1024 * 1024

export interface TreePair {
  /** null if there is no tree. Then everything is added. */
  readonly from: Oid | null
  readonly to: Oid
  /** Only this file, or the files in this folder. A rename into it is then an addition. */
  readonly path?: string | undefined
}

export interface Hunks {
  /** The first files, in the order of their paths' bytes. */
  readonly files: readonly FileDiff[]
  /** The number of all files that differ. */
  readonly total: number
}

type Bounds = Pick<GitReading, 'timeoutMs' | 'signal' | 'objects'>

/**
 * Returns the files that differ, and their hunks as `git diff -M` makes them. Hunks have three lines of context. Beyond
 * `most`, a part of the files and hunks is returned.
 *
 * @throws the errors of askGit
 */
export async function readHunks(repo: Repo, pair: TreePair, most: DiffLimits, bounds: Bounds): Promise<Hunks> {
  const reader = new PatchReader(most)
  let isEnough = false
  const take = (chunk: Buffer): boolean => {
    isEnough = !reader.take(chunk)
    return !isEnough
  }
  await diffTree(repo, ['-z', '--raw', '--no-abbrev'], pair, { ...bounds, maxOutputBytes: maxReadBytes, take })
  if (!isEnough) reader.end()
  return { files: reader.files, total: reader.total }
}

/**
 * Returns a patch for `git apply`, with binary files, that makes `to` from `from`.
 *
 * @throws the errors of askGit; limit_exceeded if it has more than `maxBytes`
 */
export function readPatch(repo: Repo, pair: TreePair, maxBytes: number, bounds: Bounds): Promise<Buffer> {
  return diffTree(repo, ['--binary', '--full-index'], pair, { ...bounds, maxOutputBytes: maxBytes })
}

function diffTree(repo: Repo, form: readonly string[], { from, to, path }: TreePair, reading: GitReading) {
  const args = [
    ...['diff-tree', '-r', '--patch', '--unified=3', '--inter-hunk-context=0', '--diff-algorithm=myers'],
    ...[
      '--indent-heuristic',
      `--find-renames=50%`,
      `-l${limits.renamedFiles}`,
      '--no-color',
      '--no-ext-diff',
      '--no-textconv',
    ],
    ...['--submodule=short', '--ignore-submodules=none', '--src-prefix=a/', '--dst-prefix=b/', '-O/dev/null'],
    ...form,
  ]
  const trees = ['--end-of-options', from ?? emptyTree, to]
  const settings = [`core.bigFileThreshold=${limits.comparedFileBytes}`]
  return askGit(repo, [...args, ...trees, '--', ...(path === undefined ? [] : [path])], { ...reading, settings })
}

/** One side of a change. The mode has six digits, as Git writes it. */
export interface DiffSide {
  readonly mode: string
  readonly oid: Oid
}

export interface HunkLine {
  readonly kind: 'context' | 'added' | 'removed'
  /** Counted from 1. Absent for an added line. */
  readonly old_line?: number
  /** Counted from 1. Absent for a removed line. */
  readonly new_line?: number
  /** The text without its LF. Bytes that are not UTF-8 read as U+FFFD. */
  readonly text: string
  /** The file ends here, without LF. */
  no_newline?: true
}

export interface Hunk {
  readonly old_start: number
  readonly old_lines: number
  readonly new_start: number
  readonly new_lines: number
  /** The heading or function above, which Git shows after the `@@`, or ''. */
  readonly section: string
  readonly lines: HunkLine[]
}

/** `unread` means that no text was read: the limits of the whole diff were reached. */
type FileText = 'text' | 'binary' | 'unread'

export interface FileDiff {
  readonly status: 'A' | 'D' | 'M' | 'T' | 'R'
  /** The path before the change. */
  readonly oldPath: string
  readonly path: string
  /** null if the file is new. */
  readonly old: DiffSide | null
  /** null if the file was deleted. */
  readonly new: DiffSide | null
  /** The similarity of a renamed file, in per cent. */
  readonly similarity: number | undefined
  kind: FileText
  readonly hunks: Hunk[]
  /** Numbers of lines. They are exact unless the reader stopped in this file. */
  added: number
  removed: number
  /** True if some of its lines were left out. */
  isCut: boolean
  /** True if the reader stopped in this file. Then `added` and `removed` count a part. */
  isStopped: boolean
  /** True if all lines that were kept are UTF-8. */
  isUtf8: boolean
}

export interface DiffLimits {
  readonly files: number
  readonly linesOfFile: number
  readonly lines: number
  /** Bytes of the text of lines, without their signs and ends. */
  readonly bytesOfFile: number
  readonly bytes: number
}

/** A record of the raw list. Source: git-diff-tree(1), "RAW OUTPUT FORMAT". */
const rawRecord = /^:([0-7]{6}) ([0-7]{6}) ([0-9a-f]{40}) ([0-9a-f]{40}) ([ADMTR])(\d{3})?$/
const hunkHead = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: (.*))?$/s
const headerLine =
  /^(old mode|new mode|deleted file mode|new file mode|rename from|rename to|similarity index|dissimilarity index|index|---|\+\+\+) /

const [space, plus, minus, backslash] = [0x20, 0x2b, 0x2d, 0x5c]

/** Parses the output of `git diff-tree -z --raw --patch`. */
export class PatchReader {
  readonly files: FileDiff[] = []
  /** The number of all files, including those beyond the limit. */
  total = 0
  readonly #limits: DiffLimits
  /** The beginning of an incomplete field or line. */
  #parts: Buffer[] = []
  #record: RegExpExecArray | undefined
  #paths: string[] = []
  #isRaw = true
  /** The current file, and its counts. */
  #at = -1
  #sections = 0
  #linesOfFile = 0
  #bytesOfFile = 0
  /** Counts of all files. */
  #lines = 0
  #bytes = 0
  #hunk: Hunk | undefined
  #oldLeft = 0
  #newLeft = 0
  #last: HunkLine | undefined

  constructor(most: DiffLimits) {
    this.#limits = most
  }

  /** Returns false when nothing more is wanted. @throws GitError native_failed: Git never writes this */
  take = (chunk: Buffer): boolean => {
    let from = chunk
    while (from.length > 0) {
      const end = from.indexOf(this.#isRaw ? 0 : 0x0a)
      this.#parts.push(end < 0 ? from : from.subarray(0, end))
      if (end < 0) return true
      from = from.subarray(end + 1)
      const [only, ...others] = this.#parts
      const whole = others.length === 0 && only ? only : Buffer.concat(this.#parts)
      this.#parts = []
      if (this.#isRaw) this.#takeField(whole)
      else if (!this.#takeLine(whole)) return false
    }
    return true
  }

  /** @throws GitError native_failed: the output is incomplete */
  end(): void {
    const missing = this.files.length - 1 - this.#at
    if (this.#parts.length > 0 || this.#oldLeft + this.#newLeft + this.#sections + missing > 0)
      throw malformed('less than it has announced')
  }

  /** Takes a field of the raw list, which ends with an empty field. */
  #takeField(field: Buffer): void {
    if (this.#record) this.#takePath(this.#record, field)
    else if (field.length === 0) this.#isRaw = false
    else {
      this.#record = rawRecord.exec(field.toString('latin1')) ?? undefined
      if (!this.#record) throw malformed('a record of another form')
    }
  }

  #takePath(record: RegExpExecArray, field: Buffer): void {
    this.#paths.push(decodeName(field))
    const [, oldMode = '', newMode = '', oldOid = '', newOid = '', status, score] = record
    const [oldPath = '', path = oldPath] = this.#paths
    if (status === 'R' && this.#paths.length < 2) return
    this.#record = undefined
    this.#paths = []
    if (++this.total > this.#limits.files) return
    this.files.push({
      status: status as FileDiff['status'], // the expression allows only these
      oldPath,
      path,
      old: side(oldMode, oldOid),
      new: side(newMode, newOid),
      similarity: score === undefined ? undefined : Number(score),
      kind: 'unread',
      hunks: [],
      added: 0,
      removed: 0,
      isCut: false,
      isStopped: false,
      isUtf8: true,
    })
  }

  #takeLine(line: Buffer): boolean {
    if (line[0] === backslash && this.#hunk) {
      if (this.#last) this.#last.no_newline = true
      return true
    }
    if (this.#oldLeft + this.#newLeft > 0) return this.#takeContent(line)
    return this.#takeHeader(line.toString('utf8'), line)
  }

  #takeHeader(text: string, line: Buffer): boolean {
    if (text.startsWith('diff --git ')) return this.#nextSection()
    const file = this.files[this.#at]
    const head = hunkHead.exec(text)
    if (!file) throw malformed('a line of no file')
    if (head) {
      const [, oldStart, oldLines = '1', newStart, newLines = '1', section = ''] = head
      this.#oldLeft = Number(oldLines)
      this.#newLeft = Number(newLines)
      this.#last = undefined
      this.#hunk = {
        old_start: Number(oldStart),
        old_lines: this.#oldLeft,
        new_start: Number(newStart),
        new_lines: this.#newLeft,
        section,
        lines: [],
      }
      file.isUtf8 &&= isUtf8(line)
      if (!file.isCut) file.hunks.push(this.#hunk)
    } else if (text.startsWith('Binary files ')) file.kind = 'binary'
    else if (!headerLine.test(text)) throw malformed('a line of another form')
    return true
  }

  /** Begins the section of a file. A file whose type changes has two: a removal and an addition. */
  #nextSection(): boolean {
    this.#hunk = undefined
    this.#last = undefined
    if (this.#sections > 0) {
      this.#sections--
      return true
    }
    if (this.#at === this.files.length - 1) {
      if (this.total > this.files.length) return false
      throw malformed('more files than it has named')
    }
    this.#at++
    this.#linesOfFile = 0
    this.#bytesOfFile = 0
    const file = this.files[this.#at]
    if (!file) return false
    if (this.#isFull()) return false
    this.#sections = file.status === 'T' ? 1 : 0
    file.kind = 'text'
    return true
  }

  #isFull(): boolean {
    return this.#lines >= this.#limits.lines || this.#bytes >= this.#limits.bytes
  }

  #takeContent(line: Buffer): boolean {
    const file = this.files[this.#at]
    const hunk = this.#hunk
    if (!file || !hunk) throw malformed('a line of no hunk')
    const sign = line[0]
    const isOld = sign === space || sign === minus
    const isNew = sign === space || sign === plus
    if ((isOld ? this.#oldLeft : isNew ? this.#newLeft : 0) <= 0 || (isNew && this.#newLeft <= 0))
      throw malformed('a line that its hunk does not count')
    const old_line = hunk.old_start + hunk.old_lines - this.#oldLeft
    const new_line = hunk.new_start + hunk.new_lines - this.#newLeft
    if (isOld) this.#oldLeft--
    if (isNew) this.#newLeft--
    if (!isOld) file.added++
    if (!isNew) file.removed++
    this.#last = undefined
    if (file.isCut) return true
    const length = line.length - 1
    const fits = this.#fitsFile(length)
    if (!fits || !this.#fitsWhole(length)) {
      file.isCut = true
      file.isStopped = fits
      if (hunk.lines.length === 0) file.hunks.pop()
      return !file.isStopped
    }
    this.#count(length)
    const bytes = line.subarray(1)
    file.isUtf8 &&= isUtf8(bytes)
    this.#last = {
      kind: !isOld ? 'added' : isNew ? 'context' : 'removed',
      ...(isOld ? { old_line } : {}),
      ...(isNew ? { new_line } : {}),
      text: bytes.toString('utf8'),
    }
    hunk.lines.push(this.#last)
    return true
  }

  #fitsFile(bytes: number): boolean {
    const { linesOfFile, bytesOfFile } = this.#limits
    return this.#linesOfFile < linesOfFile && this.#bytesOfFile + bytes <= bytesOfFile
  }

  #fitsWhole(bytes: number): boolean {
    return this.#lines < this.#limits.lines && this.#bytes + bytes <= this.#limits.bytes
  }

  #count(bytes: number): void {
    this.#linesOfFile++
    this.#lines++
    this.#bytesOfFile += bytes
    this.#bytes += bytes
  }
}

function side(mode: string, oid: string): DiffSide | null {
  if (!isOid(oid)) throw malformed('an id of another form')
  return /^0+$/.test(mode) ? null : { mode, oid }
}

function malformed(what: string): GitError {
  return new GitError('native_failed', `git diff-tree writes ${what}`)
}

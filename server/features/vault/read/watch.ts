/**
 * Watches a folder for changes. An event only means that something changed; everything is then read again.
 *
 * Each folder is watched separately. On Linux, Node's recursive watching needs a watch per file, and misses files that
 * are created while it starts.
 */
import { type FSWatcher, watch } from 'node:fs'
import { join, posix } from 'node:path'
import { codeOf } from '../../../../gitstore/errors.ts'
import { isAbsent } from '../../../../gitstore/fs-exists.ts'

/** Milliseconds without a change before it is reported, because an editor may still be writing. */
const quietMs = 500
/**
 * Milliseconds between two checks without a change.
 *
 * They happen if the system has no more watches, or if the last import left something undone. In the second case the
 * time is doubled after each import.
 */
const lookAgainMs = 10_000
const longestMs = 300_000

/** The state of the folder after the last import. It is read again after each import. */
interface Watched {
  /** Paths from `dir`. */
  readonly folders: readonly string[]
  /** True if the last import left something undone that another one may complete. */
  readonly isBehind: boolean
}

/**
 * Yields half a second after each change, until `signal` is aborted.
 *
 * Yields a sentence if some folders cannot be watched; they are then checked every ten seconds. Changes while the
 * caller works are reported afterwards. While the caller is behind, it also yields without a change, after ten seconds
 * and then after ever longer times, at most five minutes.
 */
export async function* whenChanged(
  dir: string,
  watched: Watched,
  signal: AbortSignal,
): AsyncGenerator<string | undefined> {
  let changedAt: number | undefined
  let turnsBehind = 0
  let wake = () => {}
  const watchers = new Watchers(dir, () => {
    changedAt = performance.now()
    wake()
  })
  signal.addEventListener('abort', () => wake(), { once: true })
  try {
    watchers.watch(watched.folders)
    while (!signal.aborted) {
      const left = changedAt === undefined ? nextLook() : changedAt + quietMs - performance.now()
      if (left === undefined || left > 0) {
        const isOver = await pause(left)
        // Yield without a change only when the time for the next check is over.
        if (!isOver || changedAt !== undefined) continue
      }
      if (changedAt !== undefined) turnsBehind = 0
      changedAt = undefined
      yield watchers.takeNote()
      if (watched.isBehind) turnsBehind++
      watchers.watch(watched.folders)
    }
  } finally {
    watchers.close()
  }

  /** Returns the milliseconds until the next check; undefined to wait only for a change. */
  function nextLook(): number | undefined {
    if (watchers.isBlind) return lookAgainMs
    return watched.isBehind ? Math.min(lookAgainMs * 2 ** Math.max(0, turnsBehind - 1), longestMs) : undefined
  }

  /** Resolves with true when the time is over, or with false if something happens before. */
  function pause(ms: number | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms, true)
      wake = () => {
        clearTimeout(timer)
        resolve(false)
      }
    })
  }
}

/** The watches of a folder and its subfolders. */
class Watchers {
  /** True if some folder cannot be watched. */
  isBlind = false
  readonly #dir: string
  readonly #onChange: () => void
  readonly #byFolder = new Map<string, FSWatcher>()
  #note: string | undefined

  constructor(dir: string, onChange: () => void) {
    this.#dir = dir
    this.#onChange = onChange
  }

  /** Watches only these folders. A new one counts as a change, because it may already have files. */
  watch(folders: readonly string[]): void {
    const wanted = new Set(folders)
    for (const [folder, watcher] of this.#byFolder)
      if (!wanted.has(folder)) {
        watcher.close()
        this.#byFolder.delete(folder)
      }
    for (const folder of wanted) if (!this.#byFolder.has(folder)) this.#watchOne(folder)
  }

  /** Returns a sentence, only once, if some folders cannot be watched. */
  takeNote(): string | undefined {
    const note = this.#note
    this.#note = undefined
    return note
  }

  close(): void {
    for (const watcher of this.#byFolder.values()) watcher.close()
  }

  #watchOne(folder: string): void {
    try {
      const watcher = watch(join(this.#dir, folder), (event, name) => {
        // Files of tools. An event without a name may be about any file.
        if (name?.startsWith('.')) return
        if (event === 'rename' && name) this.#forget(posix.join(folder, name))
        this.#onChange()
      })
      watcher.on('error', () => {
        this.#forget(folder)
        this.#onChange()
      })
      this.#byFolder.set(folder, watcher)
    } catch (error) {
      if (!isAbsent(error)) {
        const reason = `cannot be watched (${codeOf(error)})`
        if (!this.isBlind) this.#note = `Some folders ${reason}; they are checked every ${lookAgainMs / 1_000} s`
        this.isBlind = true
      }
    }
    this.#onChange()
  }

  /** Closes the watches of a folder. A watch is lost with its folder, even if another gets the same name. */
  #forget(folder: string): void {
    if (!this.#byFolder.has(folder)) return
    for (const [path, watcher] of this.#byFolder)
      if (path === folder || path.startsWith(`${folder}/`)) {
        watcher.close()
        this.#byFolder.delete(path)
      }
  }
}

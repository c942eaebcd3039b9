/**
 * Tells when a folder has changed. Each folder is watched by itself: node's recursive watching on Linux has a watch for each
 * file, and loses what is made while it looks. An event says only that something changed: the whole is then read again.
 */
import { type FSWatcher, watch } from 'node:fs'
import { join, posix } from 'node:path'
import { codeOf } from '../../../gitstore/errors.ts'
import { isAbsent } from '../../../gitstore/fs-exists.ts'

/** Milliseconds from the last change until it is reported: an editor may still be writing. */
const quietMs = 500
/** Milliseconds where the system has no more watches, or the last import has left something; doubled after each import. */
const lookAgainMs = 10_000
const longestMs = 300_000

/** The folder as the last import found it; read again after each import. */
interface Watched {
  /** From `dir`. */
  readonly folders: readonly string[]
  /** The last import has left something undone that another one may do. */
  readonly isBehind: boolean
}

/**
 * Yields each time that something has changed and half a second has passed since; a sentence where that cannot be known any
 * more, and the folder is looked at every ten seconds. Changes while the caller works are reported afterwards. Yields without a
 * change while the caller is behind, after ten seconds and ever longer, five minutes at most. Ends with `signal`.
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
        // Without a change, only the time after which a folder is looked at again.
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

  /** Milliseconds; undefined if only a change is waited for. */
  function nextLook(): number | undefined {
    if (watchers.isBlind) return lookAgainMs
    return watched.isBehind ? Math.min(lookAgainMs * 2 ** Math.max(0, turnsBehind - 1), longestMs) : undefined
  }

  /** True if the time is over, false if something happens before. */
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

/** The watches of the folders below one. */
class Watchers {
  /** Some folder cannot be watched. */
  isBlind = false
  readonly #dir: string
  readonly #onChange: () => void
  readonly #byFolder = new Map<string, FSWatcher>()
  #note: string | undefined

  constructor(dir: string, onChange: () => void) {
    this.#dir = dir
    this.#onChange = onChange
  }

  /** Watches these folders alone. A new one may have been filled before it was watched: that counts as a change. */
  watch(folders: readonly string[]): void {
    const wanted = new Set(folders)
    for (const [folder, watcher] of this.#byFolder)
      if (!wanted.has(folder)) {
        watcher.close()
        this.#byFolder.delete(folder)
      }
    for (const folder of wanted) if (!this.#byFolder.has(folder)) this.#watchOne(folder)
  }

  /** A sentence, once, if some folders cannot be watched. */
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
        // Tools' own; without a name it may be any file.
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
        if (!this.isBlind) this.#note = `Some folders ${reason}: they are looked at every ${lookAgainMs / 1_000} s`
        this.isBlind = true
      }
    }
    this.#onChange()
  }

  /** A watch is lost with its folder, also if another one of that name comes. */
  #forget(folder: string): void {
    if (!this.#byFolder.has(folder)) return
    for (const [path, watcher] of this.#byFolder)
      if (path === folder || path.startsWith(`${folder}/`)) {
        watcher.close()
        this.#byFolder.delete(path)
      }
  }
}

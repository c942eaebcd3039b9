/**
 * Rewrites the first-parent chain of a commit: some files, some signatures, some second parents. Everything else keeps
 * its bytes. Moves no ref. New objects are in packs that operators' repacks keep, and need no sync of single files.
 */
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createCache } from '../caching/caches.ts'
import { replaceFile, syncDirectory } from '../durable.ts'
import { asStorageError, codeOf, GitError } from '../errors.ts'
import { runGitOrThrow } from '../native.ts'
import { newObjectDraft } from '../objects/object-batch.ts'
import { readObject } from '../objects/objects.ts'
import { encodePack } from '../objects/pack-format.ts'
import { readTree, type TreeEntry } from '../objects/trees.ts'
import type { Oid, PendingObject, Repo } from '../repo.ts'

/** The changes in each commit of a chain. Each answer depends only on its arguments. */
export interface Edits {
  /** True if a file at this path, or a file below this folder, may change. */
  readonly touches: (path: string, isFolder: boolean) => boolean
  /** Returns the new content of a file, or the same buffer. */
  readonly file: (path: string, content: Buffer) => Buffer
  /** Returns the new `Name <email>` of a signature, or the same text. */
  readonly signature?: (identity: string) => string
  /** True for a commit that must not be a parent. First parents stay. */
  readonly dropsParent?: (commit: Oid) => boolean
}

/** A chain that is being rewritten. It can be extended when the ref moves. */
export interface Rewriting {
  /**
   * Rewrites the chain up to `tip`, durably. Continues from the last tip if that is in the chain, and otherwise begins
   * again. Reads objects of `tip` only.
   *
   * @returns the new tip, which is `tip` itself if nothing changes, and how many commits were rewritten in all
   * @throws GitError object_missing, object_damaged, native_failed, storage_*
   */
  extend(tip: Oid, signal: AbortSignal): Promise<{ readonly tip: Oid; readonly rewritten: number }>
  /** Returns how many commits `tip` has above the last tip. Undefined if that is not in its chain. */
  distance(tip: Oid): Promise<number | undefined>
  /** Adds a commit on top of the new tip, with its tree. `message` and identity are the caller's. */
  seal(fields: { readonly tip: Oid; readonly identity: string; readonly message: string }): Promise<Oid>
  /** The packs that were written, without suffix. */
  readonly packs: readonly string[]
}

/** Commits whose trees are rewritten at a time. */
const commitsAtOnce = 200
/** Bytes of new objects, and their number, after which a pack is written. */
const packBytes = 16 * 1_048_576
const packObjectCount = 20_000

/** The text of a `.keep` file. The sweep removes it with a pack that a killed process has left. */
export const keepText = 'grove erase\n'

export function startRewriting(repo: Repo, edits: Edits): Rewriting {
  return new Chain(repo, edits)
}

class Chain implements Rewriting {
  readonly packs: string[] = []
  readonly #repo: Repo
  readonly #edits: Edits
  /** Rewritten trees and files. Two commits in a row share almost all. */
  readonly #known = createCache<Promise<Oid>>('rewritten_objects')
  readonly #pending = new Map<Oid, PendingObject>()
  #bytes = 0
  #before: Oid | undefined
  #after: Oid | undefined
  #rewritten = 0

  constructor(repo: Repo, edits: Edits) {
    this.#repo = repo
    this.#edits = edits
  }

  async extend(tip: Oid, signal: AbortSignal) {
    if (tip !== this.#before) {
      const fresh = await this.#commitsAbove(tip, signal)
      for (let at = 0; at < fresh.length; at += commitsAtOnce) {
        signal.throwIfAborted()
        await this.#rewrite(fresh.slice(at, at + commitsAtOnce))
        await nextTurn()
      }
    }
    await this.#flush()
    return { tip: this.#after ?? tip, rewritten: this.#rewritten }
  }

  async distance(tip: Oid): Promise<number | undefined> {
    if (tip === this.#before) return 0
    const above = await firstParents(this.#repo, tip, this.#before)
    return above[0]?.parent === this.#before ? above.length : undefined
  }

  async seal({ tip, identity, message }: { tip: Oid; identity: string; message: string }): Promise<Oid> {
    const { content } = this.#pending.get(tip) ?? (await readObject({ dir: this.#repo.dir }, tip))
    const tree = content.toString('latin1', 'tree '.length, 'tree '.length + 40)
    const lines = [`tree ${tree}`, `parent ${tip}`, `author ${identity}`, `committer ${identity}`, '', message, '']
    const sealed = await this.#add('commit', Buffer.from(lines.join('\n')))
    await this.#flush()
    return sealed
  }

  async #commitsAbove(tip: Oid, signal: AbortSignal): Promise<Oid[]> {
    const above = await firstParents(this.#repo, tip, this.#before, signal)
    if (this.#before === undefined || above[0]?.parent === this.#before) return above.map(({ oid }) => oid)
    this.#before = undefined
    this.#after = undefined
    this.#rewritten = 0
    return this.#commitsAbove(tip, signal)
  }

  async #rewrite(commits: readonly Oid[]): Promise<void> {
    const contents = await Promise.all(commits.map((oid) => this.#read(oid, 'commit')))
    const trees = await Promise.all(
      contents.map((content) => this.#tree(content.toString('latin1', 'tree '.length, 'tree '.length + 40), '')),
    )
    for (const [n, oid] of commits.entries()) {
      const [content, tree] = [contents[n], trees[n]]
      if (!content || !tree) continue
      const { dropsParent, signature } = this.#edits
      const changed = rewriteCommit(content, { tree, first: this.#after, dropsParent, signature })
      this.#before = oid
      this.#after = changed === content ? oid : await this.#add('commit', changed)
      if (changed !== content) this.#rewritten++
    }
    if (this.#bytes > packBytes || this.#pending.size > packObjectCount) await this.#flush()
  }

  #remembered(oid: Oid, path: string, rewrite: () => Promise<Oid>): Promise<Oid> {
    const key = `${oid} ${path}`
    const known = this.#known.get(key) ?? rewrite()
    this.#known.set(key, known)
    // A caller that awaits it gets the error. Another part of the work may have failed before.
    known.catch(() => undefined)
    return known
  }

  #tree(oid: Oid, path: string): Promise<Oid> {
    return this.#remembered(oid, path, async () => {
      const before = await readTree(this.#repo, oid)
      const after = await Promise.all(before.map((entry) => this.#entry(entry, `${path}${entry.name}`)))
      if (after.every((new_, n) => new_ === before[n]?.oid)) return oid
      return this.#draft().tree(before.map((entry, n) => ({ ...entry, oid: after[n] ?? entry.oid })))
    })
  }

  async #entry({ oid, mode }: TreeEntry, path: string): Promise<Oid> {
    const isFolder = mode === '040000'
    if (mode === '160000' || !this.#edits.touches(path, isFolder)) return oid
    if (isFolder) return this.#tree(oid, `${path}/`)
    return this.#remembered(oid, path, async () => {
      const content = await this.#read(oid, 'blob')
      const changed = this.#edits.file(path, content)
      return changed === content ? oid : this.#add('blob', changed)
    })
  }

  #draft() {
    const counted = newObjectDraft({ dir: this.#repo.dir }, this.#pending)
    return { tree: async (entries: readonly TreeEntry[]) => this.#count(await counted.tree(entries)) }
  }

  async #add(type: PendingObject['type'], content: Buffer): Promise<Oid> {
    return this.#count(await newObjectDraft({ dir: this.#repo.dir }, this.#pending).object(type, content))
  }

  #count(oid: Oid): Oid {
    this.#bytes += this.#pending.get(oid)?.content.length ?? 0
    return oid
  }

  async #read(oid: Oid, type: PendingObject['type']): Promise<Buffer> {
    const found = await readObject({ dir: this.#repo.dir }, oid)
    if (found.type === type) return found.content
    throw new GitError('object_missing', `Object ${oid} is a ${found.type}, not a ${type}`, { oid })
  }

  /** Writes the new objects as a pack that Git keeps. */
  async #flush(): Promise<void> {
    if (this.#pending.size === 0) return
    const { name, pack, index } = await encodePack(this.#pending)
    const folder = join(this.#repo.dir, 'objects', 'pack')
    // Makes no folder above, because that would bring half of a deleted repository back.
    await mkdir(folder).then(() => syncDirectory(dirname(folder)), ignoreExisting)
    // The pack comes last. Git ignores an index without a pack, which is all that a killed process leaves.
    await replaceFile(join(folder, `${name}.keep`), keepText)
    await replaceFile(join(folder, `${name}.idx`), index)
    await replaceFile(join(folder, `${name}.pack`), pack)
    this.packs.push(name)
    this.#pending.clear()
    this.#bytes = 0
  }
}

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw asStorageError(error)
}

/** Lists the first parents of `tip`, oldest first, without those of `before`. */
async function firstParents(repo: Repo, tip: Oid, before: Oid | undefined, signal?: AbortSignal) {
  const range = before === undefined ? [tip] : [tip, `^${before}`]
  const args = ['rev-list', '--first-parent', '--reverse', '--parents', ...range]
  const listed = await runGitOrThrow(repo, args, { timeoutMs: 600_000, ...(signal && { signal }) })
  return listed
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [oid = '', parent] = line.split(' ')
      return { oid, parent }
    })
}

interface NewHeader {
  readonly dropsParent: Edits['dropsParent'] | undefined
  readonly signature: Edits['signature'] | undefined
  readonly tree: Oid
  /** The new first parent. Undefined for the first commit. */
  readonly first: Oid | undefined
}

/** Returns the same buffer if nothing changes. A signature by GPG would be wrong, so it is dropped. */
function rewriteCommit(content: Buffer, { tree, first, dropsParent, signature }: NewHeader): Buffer {
  const blank = content.indexOf('\n\n')
  const end = blank < 0 ? content.length : blank
  const before = content.toString('latin1', 0, end).split('\n')
  let parents = 0
  const after = before.flatMap((line, n) => {
    if (n === 0) return [`tree ${tree}`]
    if (line.startsWith('parent ') && parents === n - 1) {
      parents++
      const parent = line.slice('parent '.length)
      if (parents === 1) return [`parent ${first ?? parent}`]
      return dropsParent?.(parent) === true ? [] : [line]
    }
    const [, role, identity, when = ''] = /^(author|committer) (.*>)(.*)$/.exec(line) ?? []
    if (signature === undefined || identity === undefined) return [line]
    return [`${role} ${changedIdentity(identity, signature)}${when}`]
  })
  if (after.join('\n') === before.join('\n')) return content
  const kept = after.filter((line, n) => !isGpg(line) && !(line.startsWith(' ') && isGpg(lastHeader(after, n))))
  return Buffer.concat([Buffer.from(kept.join('\n'), 'latin1'), content.subarray(end)])
}

/** @param identity its bytes as characters, as in the header */
function changedIdentity(identity: string, signature: (identity: string) => string): string {
  const text = Buffer.from(identity, 'latin1').toString()
  const changed = signature(text)
  return changed === text ? identity : Buffer.from(changed).toString('latin1')
}

function isGpg(line: string): boolean {
  return line.startsWith('gpgsig')
}

/** The header that the line continues. */
function lastHeader(lines: readonly string[], at: number): string {
  return lines.slice(0, at).findLast((line) => !line.startsWith(' ')) ?? ''
}

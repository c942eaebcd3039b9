/**
 * Reads a repository with isomorphic-git only. It is an independent opinion on what gitstore/ reads, so this file imports
 * no code of Grove.
 */

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import git from 'isomorphic-git'

/** The content of an object, as a reader says. */
export interface Reading {
  readonly type: string
  /** Values by their names, such as `author` of a commit or `entry a.md` of a tree. */
  readonly facts: Readonly<Record<string, string>>
  /** The ids of the objects that it names. */
  readonly links: readonly string[]
  /** The reason why isomorphic-git reads the object but does not parse it. There are no facts then. */
  readonly refusal?: string
}

export interface SecondReader {
  /** Returns every ref by its full name. @throws the errors of isomorphic-git */
  readRefs(): Promise<ReadonlyMap<string, string>>
  /** @throws the errors of isomorphic-git, if it cannot read the object */
  read(oid: string): Promise<Reading>
}

const mebibyte = 1_048_576
/** Bytes of objects after which the cache is dropped, because isomorphic-git never evicts. */
const cachedBytes = 64 * mebibyte

/** Bytes that isomorphic-git holds in memory, or searches for each ref. */
const bounds = [
  { folder: 'objects/pack', ending: '.pack', mebibytes: 128 },
  { folder: 'objects/pack', ending: '.idx', mebibytes: 8 },
  { folder: '.', ending: 'packed-refs', mebibytes: 1 },
]

/** Says why isomorphic-git is not to read the repository. @throws system errors */
export async function unreadable(dir: string): Promise<string | undefined> {
  if (fs.existsSync(join(dir, 'objects/info/alternates')))
    return 'isomorphic-git does not follow objects/info/alternates'
  for (const { folder, ending, mebibytes } of bounds) {
    const names = await readdir(join(dir, folder)).catch(() => [])
    let bytes = 0
    for (const name of names.filter((one) => one.endsWith(ending)))
      bytes += (await stat(join(dir, folder, name)).catch(() => ({ size: 0 }))).size
    if (bytes > mebibytes * mebibyte)
      return `${Math.ceil(bytes / mebibyte)} MiB of ${ending} files are more than the ${mebibytes} MiB that isomorphic-git is given`
  }
  return undefined
}

export function openSecondReader(gitdir: string): SecondReader {
  let [cache, held] = [{}, 0]

  return {
    async readRefs() {
      const refs = new Map<string, string>()
      // Locks, names that begin with a dot, and peeled tags are not refs.
      for (const name of await git.listRefs({ fs, gitdir, filepath: 'refs' }))
        if (!/\.lock$|\^\{\}$|(^|\/)\./.test(name))
          refs.set(`refs/${name}`, await git.resolveRef({ fs, gitdir, ref: `refs/${name}` }))
      return refs
    },

    async read(oid) {
      if (held > cachedBytes) [cache, held] = [{}, 0]
      try {
        return readingOf(await git.readObject({ fs, gitdir, oid, cache }))
      } catch (error) {
        const raw = await git.readObject({ fs, gitdir, oid, cache, format: 'content' }).catch(() => undefined)
        const refusal = reasonOf(error)
        if (!(raw?.object instanceof Uint8Array) || idOf(raw.type, raw.object) !== oid) throw new Error(refusal)
        return { type: raw.type, facts: {}, links: [], refusal }
      }
    },
  }

  function readingOf(read: git.ReadObjectResult): Reading {
    if (read.format !== 'parsed') {
      const bytes = read.object as Uint8Array // blobs are not parsed, and no encoding is named
      held += bytes.length
      return { type: 'blob', facts: contentFacts(bytes), links: [] }
    }
    held += 1_024
    if (read.type === 'commit') return commitReading(read.object)
    if (read.type === 'tag')
      return { type: 'tag', facts: { object: read.object.object, type: read.object.type }, links: [read.object.object] }
    const entries = read.type === 'tree' ? read.object : []
    held += 128 * entries.length
    return {
      type: read.type,
      facts: Object.fromEntries(entries.map(({ path, mode, oid }) => [`entry ${path}`, `${mode} ${oid}`])),
      links: entries.flatMap(({ type, oid }) => (type === 'commit' ? [] : [oid])),
    }
  }
}

function commitReading(commit: git.CommitObject & { readonly encoding?: string }): Reading {
  const { tree, parent, author, committer, message, encoding } = commit
  const texts = {
    author: personFact(author),
    committer: personFact(committer),
    message: messageFact(message),
  }
  // isomorphic-git decodes every text as UTF-8.
  const facts = { tree, parents: parent.join(' '), ...(encoding === undefined && texts) }
  return { type: 'commit', facts, links: [tree, ...parent] }
}

/** Names an author or committer. Our reader cuts names at a thousand characters. */
export function personFact(person: git.CommitObject['author']): string {
  const { name, email, timestamp, timezoneOffset } = person
  return `${name.slice(0, 999)} <${email.slice(0, 999)}> ${timestamp} ${timezoneOffset}`
}

/** Returns the message without carriage returns and outer line breaks, which isomorphic-git removes. */
export function messageFact(message: string): string {
  return message.replaceAll('\r', '').replace(/^\n+|\n+$/g, '')
}

export function contentFacts(bytes: Uint8Array): Record<string, string> {
  return { content: `${bytes.length} bytes, sha256 ${createHash('sha256').update(bytes).digest('hex')}` }
}

/** Returns the last part of an internal error's message. The rest says where to report it. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(/^[\s\S]*and this error message: /, '')
}

function idOf(type: string, content: Uint8Array): string {
  return createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex')
}

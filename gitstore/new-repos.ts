/**
 * Writes new repositories, each with all objects in one pack and all refs in packed-refs. Each has nine files and
 * folders. A few repositories are synced file by file. Many are staged in one folder, made durable by one sync of the
 * file system, and then renamed into place.
 *
 * The rename is the commit point. Everything that it makes visible is durable before it.
 */
import { closeSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { readdir, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { allDone, syncDirectory, syncFile, syncPath, takeSyncTurn, writeOpen } from './durable.ts'
import { asStorageError, codeOf, GitError } from './errors.ts'
import { lexists } from './fs-exists.ts'
import { syncFileSystem } from './native.ts'
import { newObjectDraft, type ObjectDraft, rememberObject } from './objects/object-batch.ts'
import { encodePack } from './objects/pack-format.ts'
import { packedRefsText } from './refs/packed-refs.ts'
import type { Oid, PendingObject, Repo } from './repo.ts'
import { noteCreated } from './repo-bytes.ts'
import { config, head, moveRepo } from './repo-folders.ts'
import { unfinishedName } from './temporary-names.ts'

/** The refs of a new repository, in full names. They point at commits. */
type NewRefs = ReadonlyMap<string, Oid>

interface RepoContents {
  readonly refs: NewRefs
  readonly objects: ReadonlyMap<Oid, PendingObject>
}

/** Folders that Git needs. The first loose ref or object creates the other folders. */
const folders = ['', 'objects', 'refs']
const packFolder = 'objects/pack'

/** The folders of a repository with these objects. */
function foldersOf(objects: RepoContents['objects']): readonly string[] {
  return objects.size > 0 ? [...folders, packFolder] : folders
}

/** Files that are open at once, and renames between two turns of the event loop. */
const maxOpenFiles = 64

/**
 * Creates a bare repository at `dir`, durably, completely or not at all. Its objects are those that `fill` builds, and
 * its refs those that `fill` returns. It has no hooks, no description and no info folder.
 *
 * @throws GitError repo_exists, repo_missing (the folder to hold it does not exist), limit_exceeded, storage_*
 * @throws any error of `fill`
 */
export async function createRepo(dir: string, fill: (draft: ObjectDraft) => Promise<NewRefs>): Promise<Repo> {
  const objects = new Map<Oid, PendingObject>()
  const refs = await fill(newObjectDraft({ dir }, objects))
  const staged = stageRepos(dirname(dir), 1)
  try {
    await staged.add(basename(dir), { refs, objects })
    await staged.sync()
    await staged.publish(() => undefined)
  } finally {
    await staged.close()
  }
  return { dir }
}

/**
 * Creates a repository that `write` fills durably, for example with Git.
 *
 * @throws the errors of createRepo, and any error of `write`
 */
export async function createRepoBy(dir: string, write: (repo: Repo) => Promise<void>): Promise<Repo> {
  await withTemporaryFolder(dir, async (making) => {
    await syncOpen((await writeRepo(making, { refs: new Map(), objects: new Map() })).open)
    await write({ dir: making })
    await allDone(folders.map((name) => syncDirectory(join(making, name))))
  })
  return { dir }
}

/** Writes a repository that has refs, but no objects yet. Nothing is durable. @throws system errors, GitError storage_* */
export async function writeRefs(dir: string, refs: NewRefs): Promise<void> {
  const { open } = await writeRepo(dir, { refs, objects: new Map() })
  open.forEach(closeSync)
}

async function withTemporaryFolder(dir: string, work: (making: string) => Promise<void>): Promise<void> {
  const making = join(dirname(dir), unfinishedName())
  try {
    await work(making)
    await moveRepo(making, dir)
  } catch (error) {
    await rm(making, { recursive: true, force: true })
    throw asMissing(error)
  }
}

function throwMissing(error: unknown): never {
  throw asMissing(error)
}

function asMissing(error: unknown): unknown {
  return codeOf(error) === 'ENOENT' ? folderMissing() : asStorageError(error)
}

function folderMissing(): GitError {
  return new GitError('repo_missing', 'The folder for the repository does not exist')
}

interface WrittenRepo {
  /** Descriptors of all files, unsynced. */
  readonly open: readonly number[]
  /** Bytes of the pack and its index. */
  readonly bytes: number
}

/** Writes all files, which stay open. */
async function writeRepo(dir: string, { refs, objects }: RepoContents): Promise<WrittenRepo> {
  const pack = objects.size > 0 ? await encodePack(objects) : undefined
  await takeSyncTurn()
  for (const name of foldersOf(objects)) mkdirSync(join(dir, name))
  const open: number[] = []
  const write = async (name: string, bytes: Uint8Array | string, mode = 0o644): Promise<void> => {
    open.push(await writeOpen(join(dir, name), bytes, mode))
  }
  try {
    await write('HEAD', head)
    await write('config', config)
    // Tags need objects to be peeled.
    if (refs.size > 0) await write('packed-refs', packedRefsText(refs, pack ? 'commits' : 'any object'))
    if (pack) {
      await write(`${packFolder}/${pack.name}.pack`, pack.pack, 0o444)
      await write(`${packFolder}/${pack.name}.idx`, pack.index, 0o444)
    }
    return { open, bytes: (pack?.pack.length ?? 0) + (pack?.index.length ?? 0) }
  } catch (error) {
    open.forEach(closeSync)
    throw error
  }
}

async function syncOpen(files: readonly number[]): Promise<void> {
  try {
    await allDone(files.map(syncFile))
  } finally {
    files.forEach(closeSync)
  }
}

/** New repositories of one folder, staged below it under temporary names. */
export interface StagedRepos {
  /**
   * Writes a repository that is not durable yet, and returns the bytes of its objects. `name` is the name of its
   * folder.
   *
   * @throws GitError limit_exceeded, repo_missing, storage_*
   */
  add(name: string, contents: RepoContents): Promise<number>
  /** Leaves out a repository: `publish` gives it no name. */
  drop(name: string): void
  /** Makes all of them durable. @throws GitError repo_missing (their folder was moved away), storage_* */
  sync(): Promise<void>
  /**
   * Gives the repositories their names, in the order of `add`. Calls `published` with each name as soon as the
   * repository has it. First checks that no name is taken. If a name is taken after that check, the work ends, and the
   * repositories before it stay.
   *
   * @throws GitError repo_exists (facts.name), storage_*; repo_missing (their folder was moved away, perhaps with them)
   */
  publish(published: (name: string) => void): Promise<void>
  /** Removes repositories that are not published. Must be called in any case. */
  close(): Promise<void>
}

/** More repositories cost less with one sync of the file system than file by file. */
const fewRepos = 4

/** @param count how many repositories will be added @throws GitError repo_missing: the folder does not exist; storage_* */
export function stageRepos(folder: string, count: number): StagedRepos {
  return count > fewRepos ? stageMany(folder) : stageFew(folder)
}

interface StagedRepo extends RepoContents, WrittenRepo {
  readonly name: string
  /** The temporary folder. */
  readonly making: string
}

/** Stages repositories side by side. Their files stay open until `sync`. */
function stageFew(folder: string): StagedRepos {
  const made = new Map<string, StagedRepo>()
  const left = new Set<string>()
  const open: number[] = []
  return {
    add: async (name, contents) => {
      const making = join(folder, unfinishedName())
      left.add(making)
      const written = await writeRepo(making, contents).catch(throwMissing)
      open.push(...written.open)
      made.set(name, { name, making, ...contents, ...written })
      return written.bytes
    },
    drop: (name) => void made.delete(name),
    sync: async () => {
      await syncOpen(open.splice(0)).catch(throwMissing)
      const dirs = [...made.values()].flatMap(({ making, objects }) =>
        foldersOf(objects).map((one) => join(making, one)),
      )
      await allDone(dirs.map(syncDirectory)).catch(throwMissing)
    },
    publish: async (published) => {
      refuseTaken(folder, [...made.keys()])
      for (const { name, making, objects, bytes } of made.values()) {
        renameInto(making, join(folder, name), name)
        left.delete(making)
        const repo = { dir: join(folder, name) }
        noteCreated(repo, bytes)
        for (const [oid, object] of objects) rememberObject(repo, oid, object)
        published(name)
      }
      await syncDirectory(folder).catch(throwMissing)
    },
    close: async () => {
      open.splice(0).forEach(closeSync)
      for (const making of left) await rm(making, { recursive: true, force: true })
    },
  }
}

/** Stages repositories in one folder. */
function stageMany(folder: string): StagedRepos {
  const staging = join(folder, unfinishedName())
  try {
    mkdirSync(staging)
  } catch (error) {
    throw asMissing(error)
  }
  const names = new Set<string>()
  return {
    add: async (name, contents) => {
      const { open, bytes } = await writeRepo(join(staging, name), contents).catch(throwMissing)
      open.forEach(closeSync)
      names.add(name)
      return bytes
    },
    drop: (name) => void names.delete(name),
    sync: async () => {
      // This reports a failure even if the machine's syncfs does not.
      await syncDirectory(staging).catch(throwMissing)
      await syncTrees([staging]).catch((error: unknown) => {
        // `sync` cannot say that somebody moved the folder away.
        throw lexists(staging) ? error : folderMissing()
      })
    },
    publish: async (published) => {
      refuseTaken(folder, [...names])
      for (const [at, name] of [...names].entries()) {
        if (at % maxOpenFiles === 0) await takeSyncTurn()
        renameInto(join(staging, name), join(folder, name), name)
        published(name)
      }
      await allDone([syncDirectory(folder), syncDirectory(staging)]).catch(throwMissing)
    },
    close: async () => {
      await rmdir(staging).catch(() => rm(staging, { recursive: true, force: true }))
    },
  }
}

/** @throws GitError repo_exists */
function refuseTaken(folder: string, names: readonly string[]): void {
  const taken = names.find((name) => lexists(join(folder, name)))
  if (taken !== undefined) throw exists(taken)
}

function renameInto(from: string, to: string, name: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST') throw exists(name)
    throw asMissing(error)
  }
}

function exists(name: string): GitError {
  return new GitError('repo_exists', 'A repository of that name exists', { name })
}

/**
 * Makes everything below the folders durable, if possible with one sync of each file system.
 *
 * @throws GitError storage_error, busy, and system errors
 */
export async function syncTrees(dirs: readonly string[]): Promise<void> {
  const ofDisk = new Map(dirs.map((dir) => [statSync(dir).dev, dir]))
  for (const some of ofDisk.values()) if (!(await syncFileSystem(some))) for (const dir of dirs) await syncTree(dir)
}

async function syncTree(dir: string): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(dir, name))
  for (let at = 0; at < files.length; at += maxOpenFiles)
    await allDone(files.slice(at, at + maxOpenFiles).map(syncPath))
  for (const entry of entries) if (entry.isDirectory()) await syncTree(join(dir, entry.name))
  await syncDirectory(dir)
}

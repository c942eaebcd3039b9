/** Copies a repository between folders with Git. Copies every ref and its objects, but no configuration. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncDirectory } from '../durable.ts'
import { asStorageError, codeOf, GitError } from '../errors.ts'
import { lexists } from '../fs-exists.ts'
import { runGit } from '../native.ts'
import { createRepoBy, syncTrees, writeRefs } from '../new-repos.ts'
import { areObjectsIntact, findIntact, sentenceOf } from '../objects/fsck.ts'
import type { Oid, Repo } from '../repo.ts'
import { unfinishedName } from '../temporary-names.ts'

const mirrorTimeoutMs = 60 * 60_000

/** A repository, and the folder for its mirror. */
export interface MirrorPlan {
  readonly from: Repo
  /** Read before the objects. A concurrent commit is so copied completely or not at all. */
  readonly refs: ReadonlyMap<string, Oid>
  /** A ref that is also stored in a file. Git needs the folder `refs`, and many tools copy no empty folder. */
  readonly loose: string
  readonly dir: string
}

/**
 * Packs what the refs of each mirror reach in its source. The arguments are pairs of a source and a mirror. Prints the
 * positions of the pairs for which Git cannot do it.
 */
const eachPack = `!f() {
  n=0
  while [ $# -gt 0 ]
  do
    GIT_DIR=$2 GIT_ALTERNATE_OBJECT_DIRECTORIES=$1/objects \\
      git pack-objects --all --quiet "$2/objects/pack/pack" </dev/null >/dev/null 2>&1 || echo $n
    n=$((n+1))
    shift 2
  done
}
f`

/** One sync makes all mirrors durable. A thread for deltas costs more than a small pack. */
const packSettings = ['-c', 'core.fsync=none', '-c', 'pack.threads=1']

/**
 * The command that reads the source. Git runs no hooks and no programs that the source's configuration names. The
 * settings allow another user's repository, and show every ref, even if that configuration hides it.
 */
const uploadPack = 'GIT_ALLOW_PROTOCOL= git -c safe.directory=* -c transfer.hideRefs=!refs upload-pack'

/**
 * Creates a bare repository at `dir` with the refs and objects of `from`. It is durable, and created completely or not
 * at all. `signal` ends Git.
 *
 * @throws GitError repo_exists, repo_missing (the folder to hold it does not exist), storage_*
 * @throws GitError native_failed, with Git's message, if `from` is damaged or missing
 */
export function createMirror(from: Repo, dir: string, signal?: AbortSignal): Promise<Repo> {
  // This makes one pack, instead of a file for each object: Git would unpack fewer than 100.
  return createRepoBy(dir, (repo) => fetchAll(from, repo, ['-c', 'fetch.unpackLimit=1'], signal))
}

/**
 * Updates every ref of the bare repository `to` to that of `from`, durably. Deletes refs that `from` does not have. Git
 * reads the refs first and then their objects, so a concurrent commit is copied completely or not at all. If an object
 * in `from` is missing, or damaged in a pack, no ref moves. Takes about 20 ms. Git obeys the configuration of `to`.
 *
 * @throws GitError native_failed with Git's message, storage_*
 */
export function fetchMirror(from: Repo, to: Repo, signal?: AbortSignal): Promise<void> {
  return fetchAll(from, to, [], signal)
}

/**
 * Creates mirrors together, and returns the plans of those in which Git finds no fault. They are durable. The others are
 * not created. Their repository is damaged or has just lost refs, or their mirror exists, or a disk has a fault.
 * Starts one Git process for each mirror, from a shell. A fetch and a check start six, and a shell.
 *
 * @throws GitError storage_* and system errors, after which the names of mirrors may not be durable
 */
export async function createMirrors<P extends MirrorPlan>(plans: readonly P[], signal: AbortSignal): Promise<P[]> {
  const staged = plans.map((plan) => ({ plan, making: { dir: join(dirname(plan.dir), unfinishedName('.git')) } }))
  try {
    // The caller copies each of the others with `createMirror`, which explains the fault.
    const intact = new Set<Repo>(await stageMirrors(staged, signal).catch(() => []))
    const made: P[] = []
    for (const { plan, making } of staged) if (intact.has(making) && renameNew(making.dir, plan.dir)) made.push(plan)
    for (const folder of new Set(made.map(({ dir }) => dirname(dir)))) await syncDirectory(folder)
    return made
  } catch (error) {
    throw asStorageError(error)
  } finally {
    for (const { making } of staged) if (lexists(making.dir)) await rm(making.dir, { recursive: true })
  }
}

interface StagedMirror {
  readonly plan: MirrorPlan
  readonly making: Repo
}

/** Writes mirrors, durably, and returns those in which Git finds no fault. */
async function stageMirrors(staged: readonly StagedMirror[], signal: AbortSignal): Promise<readonly Repo[]> {
  const mirrors = staged.map(({ making }) => making)
  const [first] = mirrors
  if (first === undefined) return []
  for (const { plan, making } of staged) {
    await writeRefs(making.dir, plan.refs)
    mkdirSync(join(making.dir, dirname(plan.loose)), { recursive: true })
    writeFileSync(join(making.dir, plan.loose), `${plan.refs.get(plan.loose)}\n`)
  }
  const pairs = staged.flatMap(({ plan, making }) => [plan.from.dir, making.dir])
  const args = [...packSettings, '-c', `alias.each=${eachPack}`, 'each', ...pairs]
  const { code, stdout } = await runGit(first, args, { timeoutMs: mirrorTimeoutMs, signal })
  const failed = new Set(stdout.toString().split('\n'))
  const packed = mirrors.filter((_, at) => code === 0 && !failed.has(String(at)))
  const intact = (await areObjectsIntact(packed, signal)) ? packed : await findIntact(packed, signal)
  await syncTrees(intact.map(({ dir }) => dir))
  return intact
}

/** Renames a mirror. Returns false if another backup has created it. @throws system errors */
function renameNew(making: string, dir: string): boolean {
  try {
    renameSync(making, dir)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function fetchAll(from: Repo, to: Repo, config: readonly string[], signal?: AbortSignal): Promise<void> {
  const options = ['--quiet', '--prune', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance']
  const { code, stderr } = await runGit(
    to,
    [
      ...[...config, 'fetch', ...options, `--upload-pack=${uploadPack}`],
      ...['--end-of-options', from.dir, '+refs/*:refs/*'],
    ],
    { env: { GIT_ALLOW_PROTOCOL: 'file' }, timeoutMs: mirrorTimeoutMs, ...(signal && { signal }) },
  )
  if (code !== 0) throw new GitError('native_failed', `git fetch: ${sentenceOf(stderr)}`, { stderr })
  await syncFolders(to.dir)
}

/** Syncs folders. Git syncs files, never folders. */
async function syncFolders(dir: string): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true })
  for (const entry of entries) if (entry.isDirectory()) await syncFolders(join(dir, entry.name))
  await syncDirectory(dir)
}

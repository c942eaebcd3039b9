/**
 * Measures one durable commit below HTTP and SQL, next to isomorphic-git and native Git in one run. Also measures its
 * parts.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import git from 'isomorphic-git'
import { createRepo } from '../../gitstore/new-repos.ts'
import { newObjectBatch, type ObjectBatch } from '../../gitstore/objects/object-batch.ts'
import { type Decision, type Store, updateRefs } from '../../gitstore/refs/ref-transaction.ts'
import type { Oid, Repo } from '../../gitstore/repo.ts'
import { traced } from './traced.ts'

/** Milliseconds. */
export interface Row {
  readonly what: string
  readonly p50: number
  readonly p99: number
}

/** Durable commits a second. */
export interface Rate {
  readonly what: string
  readonly perSecond: number
}

export interface CommitRows {
  readonly latencies: readonly Row[]
  /** The parts of Grove's own time. Syncs of one kind run in parallel and count once. */
  readonly shares: readonly Row[]
  readonly rates: readonly Rate[]
}

const run = promisify(execFile)
const main = 'refs/heads/main'
const path = 'docs/page.md'

/**
 * Measures commits of a blob, two trees, a commit and main. The works alternate, so that a noisy neighbour slows all
 * alike.
 */
export async function commitRows({ times = 200 } = {}): Promise<CommitRows> {
  const folder = await mkdtemp(join(tmpdir(), 'grove-bench-'))
  try {
    const store = await openStore(folder)
    const repo = await newRepo(folder, 'one')
    const works = [groveCommit(store, repo), await isomorphicCommit(folder), await nativeCommit(folder)]
    const taken = new Map<string, number[]>()
    for (let n = -10; n < times; n++) {
      for (const work of works) {
        for (const [what, ms] of Object.entries(await work(n)))
          if (n >= 0) taken.set(what, [...(taken.get(what) ?? []), ms])
      }
    }
    const latencies = [...taken].map(([what, all]) => row(what, all))
    return { latencies, shares: await shareRows(store, repo, times), rates: await rateRows(folder, store) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type Work = (n: number) => Promise<Record<string, number>>

/** Commits as the service does: builds and saves under the lock. */
function groveCommit(store: Store, repo: Repo): Work {
  return async (n) => ({ 'Grove: durable': await timed(() => commitOnMain(store, repo, `Grove ${n}`)) })
}

async function commitOnMain(store: Store, repo: Repo, text: string): Promise<Oid> {
  return updateRefs(store, [{ repo, ref: main }], async (current): Promise<Decision<Oid>> => {
    const draft = newObjectBatch(repo)
    const oid = await buildCommit(draft, current({ repo, ref: main }), text)
    return { moves: [{ repo, ref: main, to: oid }], value: oid, save: draft.save }
  })
}

async function buildCommit(draft: ObjectBatch, head: Oid | null, text: string): Promise<Oid> {
  const blob = await draft.blob(Buffer.from(text))
  const docs = await draft.tree([{ name: 'page.md', mode: '100644', oid: blob }])
  const tree = await draft.tree([{ name: 'docs', mode: '040000', oid: docs }])
  const author = { name: 'Ann', email: 'ann@example.org', timestamp: 1_700_000_000, timezoneOffset: 0 }
  return draft.commit({ tree, parents: head ? [head] : [], author, committer: author, message: 'edit' })
}

/**
 * Commits as isomorphic-git is shipped. Nothing is synced, and one of two concurrent commits is lost. `add()` makes the
 * blob.
 */
async function isomorphicCommit(folder: string): Promise<Work> {
  const dir = await mkdtemp(join(folder, 'isomorphic-'))
  await git.init({ fs, dir, defaultBranch: 'main' })
  await mkdir(join(dir, 'docs'))
  return async (n) => {
    await writeFile(join(dir, path), `isomorphic ${n}`)
    const add = await timed(() => git.add({ fs, dir, filepath: path }))
    const author = { name: 'Ann', email: 'ann@example.org' }
    const commit = await timed(() => git.commit({ fs, dir, message: 'edit', author }))
    return {
      'isomorphic-git: commit() alone, not durable': commit,
      'isomorphic-git: add() and commit(), not durable': add + commit,
    }
  }
}

async function nativeCommit(folder: string): Promise<Work> {
  const dir = await mkdtemp(join(folder, 'native-'))
  await run('git', ['init', '-q', '--bare', dir])
  const commit = nativeCommitter(dir)
  return async (n) => ({
    'git hash-object, mktree, mktree, commit-tree, update-ref; core.fsync=all': await timed(() =>
      commit(`native ${n}`),
    ),
  })
}

/** Commits to main of a bare repository with Git's own commands, one process each. */
function nativeCommitter(dir: string): (text: string) => Promise<void> {
  const who = ['AUTHOR', 'COMMITTER'].flatMap((role) => [
    [`GIT_${role}_NAME`, 'Ann'],
    [`GIT_${role}_EMAIL`, 'ann@example.org'],
  ])
  const env = { PATH: process.env.PATH, ...Object.fromEntries(who) }
  const native = async (args: string[], input?: string) => {
    const child = run('git', ['-C', dir, '-c', 'core.fsync=all', ...args], { env })
    child.child.stdin?.end(input)
    return (await child).stdout.trim()
  }
  let head = ''
  return async (text) => {
    const blob = await native(['hash-object', '-w', '--stdin'], text)
    const docs = await native(['mktree'], `100644 blob ${blob}\tpage.md\n`)
    const tree = await native(['mktree'], `040000 tree ${docs}\tdocs\n`)
    head = await native(['commit-tree', tree, '-m', 'edit', ...(head ? ['-p', head] : [])])
    await native(['update-ref', main, head])
  }
}

const steps: readonly (readonly [string, RegExp])[] = [
  ['the owner’s folder and token: made, written', /\/run\/bench\/\d+(\/token)?$/],
  ['lock: linked, unlinked', /\.lock$/],
  ['objects: written, synced, renamed', /\/objects\/..\/./],
  ['their directories: made, synced (each as soon as its objects are in)', /\/objects(\/..)?$/],
  ['the ref’s value: written, synced (in parallel with the objects)', /\/run\/bench\/\d+\/\d+$/],
  ['the ref: renamed, its directory synced', /\/refs\/heads(\/main)?$/],
]

async function shareRows(store: Store, repo: Repo, times: number): Promise<Row[]> {
  const taken = new Map<string, number[]>()
  const note = (what: string, ms: number) => taken.set(what, [...(taken.get(what) ?? []), ms])
  for (let n = 0; n < times; n++) {
    const draft = newObjectBatch(repo)
    note('building blob, trees and commit', await timed(() => buildCommit(draft, null, `built ${n}`)))
    const { ms, calls } = await traced(() => commitOnMain(store, repo, `traced ${n}`))
    for (const [what, pattern] of steps) note(what, covered(calls.filter((call) => pattern.test(call.path))))
    note('total wait for the file system', covered(calls))
    note('total, traced', ms)
  }
  return [...taken].map(([what, all]) => row(what, all))
}

/** Returns the length of the union of intervals. */
function covered(calls: readonly { readonly from: number; readonly to: number }[]): number {
  let end = Number.NEGATIVE_INFINITY
  let sum = 0
  for (const { from, to } of [...calls].sort((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, end))
    end = Math.max(end, to)
  }
  return sum
}

async function rateRows(folder: string, store: Store): Promise<Rate[]> {
  const repos = await Promise.all(Array.from({ length: 16 }, (_, n) => newRepo(folder, `many-${n}`)))
  const natives = await Promise.all(
    repos.map(async () => {
      const dir = await mkdtemp(join(folder, 'native-'))
      await run('git', ['init', '-q', '--bare', dir])
      return nativeCommitter(dir)
    }),
  )
  const rates: Rate[] = []
  for (const [where, count] of [
    ['one repository', 1],
    ['16 repositories', 16],
  ] as const) {
    const grove = (worker: number, n: number) => {
      const repo = repos[worker % count]
      return repo && commitOnMain(store, repo, `rate ${worker} ${n}`)
    }
    rates.push({ what: `Grove, 16 at a time on ${where}`, perSecond: await rate(16, 25, grove) })
    const native = (worker: number, n: number) => natives[worker]?.(`rate ${n}`)
    rates.push({ what: `native git, ${count} at a time on ${where}`, perSecond: await rate(count, 4, native) })
  }
  return rates
}

async function rate(workers: number, each: number, work: (worker: number, n: number) => unknown): Promise<number> {
  const ms = await timed(() =>
    Promise.all(
      Array.from({ length: workers }, async (_, worker) => {
        for (let n = 0; n < each; n++) await work(worker, n)
      }),
    ),
  )
  return (workers * each * 1000) / ms
}

async function openStore(root: string): Promise<Store> {
  const nobody = {
    claimDeadProcess: () => undefined,
    onRecovered: async () => {},
    indexRepo: async () => {},
    onReadOnly: () => {},
  }
  const store = { root, run: join(root, 'run'), process: 'bench', ...nobody }
  await mkdir(join(store.run, store.process), { recursive: true })
  return store
}

async function newRepo(folder: string, name: string): Promise<Repo> {
  return createRepo(join(folder, `${name}.git`), async () => new Map())
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

function row(what: string, taken: readonly number[]): Row {
  const sorted = [...taken].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { what, p50: at(0.5), p99: at(0.99) }
}

/** Prints the result of `commitRows`, and each latency as a multiple of Grove's. */
export function printCommits({ latencies, shares, rates }: CommitRows): void {
  const grove = latencies[0]?.p50 ?? 0
  console.log('\none commit (blob, two trees, commit, main) without HTTP and SQL, ms\n')
  for (const { what, p50, p99 } of latencies)
    console.log(`| ${what.padEnd(75)} | ${ms(p50)} | ${ms(p99)} | Grove is ${(grove / p50).toFixed(2)} x |`)
  console.log('\nparts of Grove’s time, ms\n')
  for (const { what, p50, p99 } of shares) console.log(`| ${what.padEnd(75)} | ${ms(p50)} | ${ms(p99)} |`)
  console.log(`\ndurable commits a second, ${availableParallelism()} cores\n`)
  for (const { what, perSecond } of rates) console.log(`| ${what.padEnd(75)} | ${perSecond.toFixed(0).padStart(7)} |`)
}

function ms(value: number): string {
  return value.toFixed(2).padStart(7)
}

if (process.argv[1] === import.meta.filename) printCommits(await commitRows())

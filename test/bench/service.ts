/** What grows with the data and what a commit costs, side by side in one run: `npm run bench`. Minutes, no network. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import git from 'isomorphic-git'
import { type Client, newDataDir, signUp, spawnGrove } from '../support/grove.ts'

interface Row {
  readonly what: string
  readonly p50: number
  readonly p99: number
}

const run = promisify(execFile)

const dataDir = await newDataDir()
const grove = await spawnGrove(dataDir)
try {
  const ann = await signUp(grove, 'Ann')
  print('history: one page of 50, ms', await historyRows(ann, ann.org))
  print('one durable commit, ms', await commitRows(ann, ann.org))
} finally {
  await grove.stop()
  await rm(dataDir, { recursive: true, force: true })
}

/** Pages at both ends of a short and of a long history; git beside it. */
async function historyRows(ann: Client, org: string): Promise<Row[]> {
  const rows: Row[] = []
  for (const size of [10, 1_000, 100_000]) {
    const { id } = (await ann.post(`/orgs/${org}/nodes`, { title: `${size} commits` })).body
    const repo = join(dataDir, org, `${id}.git`)
    await importHistory(repo, size)
    const page = (offset: number) => ann.get(`/orgs/${org}/nodes/${id}/tree/main/commits?limit=50&offset=${offset}`)
    const started = performance.now()
    const { body } = await page(0)
    if (body.total !== size + 1) throw new Error(`${body.total} commits instead of ${size + 1}`)
    rows.push({
      what: `first read of ${size} commits`,
      p50: performance.now() - started,
      p99: performance.now() - started,
    })
    const last = Math.max(0, size - 100)
    rows.push(await measure(`page at 0 of ${size}`, 200, () => page(0)))
    rows.push(await measure(`page at ${last} of ${size}`, 200, () => page(last)))
    const skip = ['-C', repo, 'log', '--format=%H%x00%an%x00%ae%x00%ct%x00%P%x00%B', '-50']
    rows.push(
      await measure(`git log --skip=${last} + rev-list --count`, 5, async () => {
        await run('git', [...skip, `--skip=${last}`, 'main'])
        await run('git', ['-C', repo, 'rev-list', '--count', 'main'])
      }),
    )
  }
  return rows
}

async function commitRows(ann: Client, org: string): Promise<Row[]> {
  const { id } = (await ann.post(`/orgs/${org}/nodes`, { title: 'Commits' })).body
  let n = 0
  const rest = await measure('Grove, over REST', 300, () =>
    ann.post(`/orgs/${org}/nodes/${id}/tree/main/commits`, {
      message: 'edit',
      changes: [{ action: 'put', path: 'docs/page.md', content: `text ${n++}` }],
    }),
  )
  return [rest, await isomorphicCommit(), await nativeCommit()]
}

/** `commit()` as shipped: not durable, and two at once lose one. */
async function isomorphicCommit(): Promise<Row> {
  const dir = await mkdtemp(join(tmpdir(), 'grove-bench-'))
  await git.init({ fs, dir, defaultBranch: 'main' })
  fs.mkdirSync(join(dir, 'docs'))
  let n = 0
  const row = await measure("isomorphic-git's add() and commit(), not durable", 300, async () => {
    fs.writeFileSync(join(dir, 'docs/page.md'), `text ${n++}`)
    await git.add({ fs, dir, filepath: 'docs/page.md' })
    await git.commit({ fs, dir, message: 'edit', author: { name: 'Ann', email: 'ann@example.org' } })
  })
  await rm(dir, { recursive: true, force: true })
  return row
}

/** hash-object, mktree twice, commit-tree, update-ref, each synced. */
async function nativeCommit(): Promise<Row> {
  const dir = await mkdtemp(join(tmpdir(), 'grove-bench-'))
  execFileSync('git', ['init', '-q', '--bare', dir])
  const env = {
    ...process.env,
    GIT_AUTHOR_NAME: 'Ann',
    GIT_AUTHOR_EMAIL: 'a@b.c',
    GIT_COMMITTER_NAME: 'Ann',
    GIT_COMMITTER_EMAIL: 'a@b.c',
  }
  const native = (args: string[], input = '') =>
    execFileSync('git', ['-C', dir, '-c', 'core.fsync=all', ...args], { env, input })
      .toString()
      .trim()
  let head = ''
  let n = 0
  const row = await measure('git hash-object, mktree, commit-tree, update-ref with core.fsync=all', 60, async () => {
    const blob = native(['hash-object', '-w', '--stdin'], `text ${n++}`)
    const docs = native(['mktree'], `100644 blob ${blob}\tpage.md\n`)
    const tree = native(['mktree'], `040000 tree ${docs}\tdocs\n`)
    head = native(['commit-tree', tree, '-m', 'edit', ...(head ? ['-p', head] : [])])
    native(['update-ref', 'refs/heads/main', head])
  })
  await rm(dir, { recursive: true, force: true })
  return row
}

async function importHistory(repo: string, size: number): Promise<void> {
  const child = spawn('git', ['-C', repo, 'fast-import', '--quiet', '--force'], {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  for (let n = 0; n < size; n++) {
    const from = n === 0 ? 'from refs/heads/main^0\n' : ''
    const text = `commit ${n}`
    const command = `commit refs/heads/main\ncommitter Ann <ann@example.org> ${1_700_000_000 + n} +0000\ndata ${text.length}\n${text}\n${from}M 100644 inline n.txt\ndata ${text.length}\n${text}\n`
    if (!child.stdin.write(command)) await new Promise((resolve) => child.stdin.once('drain', resolve))
  }
  child.stdin.end()
  if ((await ended) !== 0) throw new Error('git fast-import failed')
}

async function measure(what: string, times: number, work: () => Promise<unknown>): Promise<Row> {
  for (let n = 0; n < Math.min(10, times); n++) await work()
  const taken: number[] = []
  for (let n = 0; n < times; n++) {
    const started = performance.now()
    await work()
    taken.push(performance.now() - started)
  }
  taken.sort((a, b) => a - b)
  const at = (share: number) => taken[Math.min(taken.length - 1, Math.floor(taken.length * share))] ?? 0
  return { what, p50: at(0.5), p99: at(0.99) }
}

function print(title: string, rows: readonly Row[]): void {
  console.log(`\n${title}\n`)
  for (const { what, p50, p99 } of rows)
    console.log(`| ${what.padEnd(70)} | ${p50.toFixed(2).padStart(9)} | ${p99.toFixed(2).padStart(9)} |`)
}

/**
 * Runs mocha on chosen test files: `node --import tsx test/support/mocha.ts KIND[,KIND…] [WORD…] [OPTION…]`. KIND is the
 * ending of the files. A word is a file, a folder or a part of a path. `--changed` takes the files that the change touches.
 * `--landing` takes a quarter, and the same files first. The other options are mocha's.
 */

import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { grown, loadOf, nameOf, type OverBudget, overBudget, readBounds } from './budget.ts'
import {
  fileBefore,
  filesFor,
  filesOf,
  filesWithDeepTests,
  isChanged,
  type Kind,
  ofLanding,
  touchedFiles,
} from './choose.ts'
import { withEitherEngine } from './either-engine.ts'
import type { Results } from './reporter.ts'
import { withVfork } from './vfork.ts'

/** Mocha's options that take the next word. */
const withValue = new Set([
  '-g',
  '--grep',
  '-f',
  '--fgrep',
  '-j',
  '--jobs',
  '-t',
  '--timeout',
  '-s',
  '--slow',
  '-R',
  '--reporter',
])

/** Which of a kind's files to take. */
const choices = { '--changed': touchedFiles, '--landing': ofLanding } as const

interface Call {
  readonly words: readonly string[]
  readonly options: readonly string[]
  readonly narrow: (files: readonly string[]) => readonly string[]
}

function parse(args: readonly string[]): Call {
  const words: string[] = []
  const options: string[] = []
  let narrow: Call['narrow'] = (files) => files
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ''
    if (word === '--changed' || word === '--landing') narrow = choices[word]
    else if (!word.startsWith('-')) words.push(word)
    else options.push(word, ...(withValue.has(word) ? [args[++at] ?? ''] : []))
  }
  return { words, options, narrow }
}

/** All files of a kind. `deep` has the files of `npm test` that have deep tests, or draw fewer cases there. */
function candidates(kind: Kind): string[] {
  if (kind === 'deep') return [...filesOf('deep'), ...filesWithDeepTests()]
  return kind === 'postgres' ? [...filesOf('postgres'), ...withEitherEngine()] : filesOf(kind)
}

interface Run {
  readonly kind: Kind
  readonly files: readonly string[]
}

/** Returns the runs that have files. A word may choose files of any of them. */
function choose(kinds: readonly Kind[], { words, narrow }: Call): Run[] {
  const all = kinds.map((kind) => ({ kind, files: narrow(candidates(kind)) }))
  if (words.length === 0) return all.filter(({ files }) => files.length > 0)
  const chosen = filesFor(words, [...new Set(all.flatMap(({ files }) => files))])
  const named = chosen.filter((file) => !all.some(({ files }) => files.includes(file)))
  return all
    .map(({ kind, files }, at) => ({
      kind,
      files: [...chosen.filter((file) => files.includes(file)), ...(at === 0 ? named : [])],
    }))
    .filter(({ files }) => files.length > 0)
}

/** Variables of the environment of a run. */
function environmentOf(kind: Kind): NodeJS.ProcessEnv {
  const engine = kind === 'postgres' ? { GROVE_TEST_DATABASE_URL: process.env.GROVE_TEST_DATABASE_URL ?? 'start' } : {}
  return { GROVE_TEST_DEEP: kind === 'deep' ? 'yes' : '', ...engine }
}

/** Runs mocha and returns its exit code. */
async function runMocha(files: readonly string[], options: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  // A single file starts sooner without workers.
  const isSingle = files.length === 1 || options.includes('--no-parallel')
  const mode = isSingle ? ['--no-parallel'] : []
  const words = ['--import', 'tsx', 'node_modules/mocha/bin/mocha.js', ...mode, ...options, ...files]
  const preloaded = isSingle ? withVfork() : {}
  const child = spawn(process.execPath, words, { stdio: 'inherit', env: { ...process.env, ...preloaded, ...env } })
  const forward = (signal: NodeJS.Signals) => child.kill(signal)
  process.once('SIGINT', forward).once('SIGTERM', forward)
  return new Promise((done) => child.once('close', (code) => done(code ?? 1)))
}

function sayCost({ cost, bound }: OverBudget): string {
  return `costs ${cost.ms} ms of CPU time, and may cost ${bound}: ${nameOf(cost)}`
}

/** Runs before a file that is measured again. A cold process compiles what all files call. */
const warmUp = 'test/pulls/merging.test.ts'

/**
 * Measures files again that the change touches, and that cost more than twice their bounds. Returns the sentences on those
 * that do it both times. Other files only give a warning, because another machine may have another ratio to the unit.
 */
async function costsTwice(first: readonly OverBudget[], load: number, folder: string): Promise<string[]> {
  const path = join(folder, 'again.json')
  const refused = first.filter(({ cost, isRefused }) => isRefused && isChanged(cost.file))
  const sentences: string[] = []
  for (const file of new Set(refused.map(({ cost }) => cost.file))) {
    await runMocha([warmUp, file], ['--no-parallel', '--reporter', reporter], { GROVE_TEST_RESULTS: path })
    const again = overBudget(readResults(path).costs, load).filter(({ isRefused }) => isRefused)
    const names = new Set(refused.map(({ cost }) => nameOf(cost)))
    sentences.push(...again.filter(({ cost }) => names.has(nameOf(cost))).map((over) => `Refused: it ${sayCost(over)}`))
  }
  return sentences
}

/** Returns the sentences on bounds that a change has raised. */
function raisedBounds(): string[] {
  const before = fileBefore('test/costs.json')
  const raised = before === undefined ? [] : grown(JSON.parse(before), readBounds())
  return raised.map((name) => `Refused: test/costs.json may only shrink, and has a new or larger bound: ${name}`)
}

const reporter = 'test/support/reporter.ts'
const readResults = (path: string): Results => JSON.parse(readFileSync(path, 'utf8'))

/** How often a failed test runs again. */
const repeats = 5
/** With more failures than these, the cause is hardly chance. */
const mostRepeated = 10

/** Runs failed tests again with the same seed, each in a new process. The counts show which kind they are. */
async function repeatFailed({ failed }: Results): Promise<void> {
  for (const { file, title } of failed.slice(0, mostRepeated)) {
    const codes: number[] = []
    while (codes.length < repeats)
      codes.push(await runMocha([file], ['--fgrep', title, '--reporter', 'dot'], { GROVE_TEST_RESULTS: '' }))
    const failures = codes.filter((code) => code !== 0).length
    console.log(`failed ${failures} of ${repeats} times alone: ${file}: ${title}`)
  }
}

/** Prints what costs more than its bound. In CI, repeats failures and refuses costs. Returns the exit code. */
async function judge(kind: Kind, code: number, path: string, folder: string): Promise<number> {
  if (!existsSync(path)) return code // Another reporter was asked for.
  const isCi = process.env.GROVE_TEST_CI === 'yes'
  const results = readResults(path)
  if (isCi) await repeatFailed(results)
  if (kind !== 'test') return code
  const load = loadOf(results.costs)
  const over = overBudget(results.costs, load)
  for (const one of over) console.log(sayCost(one))
  if (!isCi || code !== 0) return code
  const refused = [...raisedBounds(), ...(await costsTwice(over, load, folder))]
  for (const sentence of refused) console.log(sentence)
  if (refused.length > 0) console.log(`The listed files cost ${load.toFixed(1)} times their bounds in this run.`)
  return refused.length > 0 ? 1 : 0
}

/** Runs the files of one kind. Returns the exit code. */
async function runKind({ kind, files }: Run, { options }: Call): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'grove-results-'))
  try {
    const path = process.env.GROVE_TEST_RESULTS || join(folder, 'results.json')
    Object.assign(process.env, environmentOf(kind))
    const code = await runMocha(files, options, { GROVE_TEST_RESULTS: path })
    return await judge(kind, code, path, folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function main([kinds = 'test', ...args]: readonly string[]): Promise<number> {
  const call = parse(args)
  const runs = choose(kinds.split(',') as Kind[], call) // the scripts of package.json name only kinds
  if (runs.length === 0) {
    console.log('No test file is touched by the change.')
    return 0
  }
  if (kinds.startsWith('deep') && !args.includes('--landing')) {
    process.env.GROVE_TEST_SEED ??= String(randomInt(2 ** 31))
    console.log(`GROVE_TEST_SEED=${process.env.GROVE_TEST_SEED} repeats the draws of this run.`)
  }
  const codes: number[] = []
  for (const run of runs) codes.push(await runKind(run, call))
  return Math.max(...codes)
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  return 2
})

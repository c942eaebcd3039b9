/**
 * Runs mocha on chosen test files: `node --import tsx test/support/mocha.ts KIND [WORD…] [OPTION…]`. KIND is the ending of
 * the files; `landing` are the deep files of a landing. A word is a file, a folder or a part of a path. `--changed` takes
 * the files that the change touches. Options are mocha's.
 */

import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { grown, nameOf, type OverBudget, overBudget, readBounds } from './budget.ts'
import { drawingFiles, fileBefore, filesFor, filesOf, type Kind, landingFiles, touchedFiles } from './choose.ts'
import { withEitherEngine } from './either-engine.ts'
import type { Results } from './reporter.ts'

/** Mocha's options that take the next word. */
const withValue = new Set(['-g', '--grep', '-f', '--fgrep', '-j', '--jobs', '-t', '--timeout', '-s', '--slow', '-R'])

interface Call {
  readonly words: readonly string[]
  readonly options: readonly string[]
  readonly isOfChange: boolean
}

function parse(args: readonly string[]): Call {
  const words: string[] = []
  const options: string[] = []
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ''
    if (!word.startsWith('-')) words.push(word)
    else if (word !== '--changed') options.push(word, ...(withValue.has(word) ? [args[++at] ?? ''] : []))
  }
  return { words, options, isOfChange: args.includes('--changed') }
}

/** All files of a kind. `deep` also has the files whose properties draw fewer cases in `npm test`. */
function candidates(kind: string): string[] {
  if (kind === 'landing') return landingFiles()
  if (kind === 'deep') return [...filesOf('deep'), ...drawingFiles()]
  const files = filesOf(kind as Kind) // the scripts of package.json name only kinds
  return kind === 'postgres' ? [...files, ...withEitherEngine()] : files
}

function choose(kind: string, { words, isOfChange }: Call): string[] {
  const all = candidates(kind)
  const from = isOfChange ? touchedFiles(all) : all
  return words.length > 0 ? filesFor(words, from) : from
}

/** Runs mocha and returns its exit code. */
async function runMocha(files: readonly string[], options: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  // A single file starts sooner without workers.
  const mode = files.length === 1 ? ['--no-parallel'] : []
  const words = ['--import', 'tsx', 'node_modules/mocha/bin/mocha.js', ...mode, ...options, ...files]
  const child = spawn(process.execPath, words, { stdio: 'inherit', env: { ...process.env, ...env } })
  const forward = (signal: NodeJS.Signals) => child.kill(signal)
  process.once('SIGINT', forward).once('SIGTERM', forward)
  return new Promise((done) => child.once('close', (code) => done(code ?? 1)))
}

function sayCost({ cost, bound }: OverBudget): string {
  return `costs ${cost.ms} ms of CPU time, and may cost ${bound}: ${nameOf(cost)}`
}

/** Runs before a file that is measured again. A cold process compiles what all files call. */
const warmUp = 'test/pulls/merging.test.ts'

/** Measures files again that cost more than twice their bounds. Returns the sentences on those that do it both times. */
async function costsTwice(first: readonly OverBudget[], folder: string): Promise<string[]> {
  const path = join(folder, 'again.json')
  const refused = first.filter(({ isRefused }) => isRefused)
  const sentences: string[] = []
  for (const file of new Set(refused.map(({ cost }) => cost.file))) {
    await runMocha([warmUp, file], ['--no-parallel', '--reporter', reporter], { GROVE_TEST_RESULTS: path })
    const again = overBudget(readResults(path).costs).filter(({ isRefused }) => isRefused)
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
async function judge(kind: string, code: number, path: string, folder: string): Promise<number> {
  const isCi = process.env.GROVE_TEST_CI === 'yes'
  const results = readResults(path)
  if (isCi) await repeatFailed(results)
  if (kind !== 'test') return code
  const over = overBudget(results.costs)
  for (const one of over) console.log(sayCost(one))
  if (!isCi || code !== 0) return code
  const refused = [...raisedBounds(), ...(await costsTwice(over, folder))]
  for (const sentence of refused) console.log(sentence)
  return refused.length > 0 ? 1 : 0
}

async function main([kind = 'test', ...args]: readonly string[]): Promise<number> {
  if (kind === 'deep' || kind === 'landing') process.env.GROVE_TEST_DEEP = 'yes'
  const call = parse(args)
  const files = choose(kind, call)
  if (files.length === 0) {
    console.log('No test file is touched by the change.')
    return 0
  }
  if (kind === 'deep') {
    process.env.GROVE_TEST_SEED ??= String(randomInt(2 ** 31))
    console.log(`GROVE_TEST_SEED=${process.env.GROVE_TEST_SEED} repeats the draws of this run.`)
  }
  const folder = mkdtempSync(join(tmpdir(), 'grove-results-'))
  try {
    const path = process.env.GROVE_TEST_RESULTS || join(folder, 'results.json')
    const code = await runMocha(files, call.options, { GROVE_TEST_RESULTS: path })
    return await judge(kind, code, path, folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  return 2
})

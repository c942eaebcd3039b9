/** Two processes over one folder of segments, which are killed while documents change and files are damaged. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { endAfterFile } from '../support/processes.ts'
import { type Random, randomOf } from '../support/random.ts'
import { createSearchIndexIn, removeNode, type SearchIndex, type SearchQuestion } from './rows-in-memory.ts'
import { answersAnew, questionsOf, setNotes } from './stored-notes.ts'

const seed = 4
const rounds = 6
const documents = 2_600

interface Writer {
  /** Undefined: it ended before it answered. */
  ask(questions: readonly SearchQuestion[]): Promise<string[] | undefined>
  kill(): Promise<void>
}

describe('two processes over one folder of segments', () => {
  let base: string
  let rows: SearchIndex
  before(async () => {
    base = await mkdtemp(join(tmpdir(), 'grove-storm-'))
    rows = createSearchIndexIn(join(base, 'index.sqlite'))
  })
  after(async () => {
    rows.db.close()
    await rm(base, { recursive: true, force: true })
  })

  it(`answer as an index made anew, whenever one is killed and whatever becomes of the files (seed ${seed})`, async () => {
    const random = randomOf(seed)
    const folder = join(base, 'search')
    const writers = [start(), start()] as [Writer, Writer]
    let written = 0
    setNotes(
      rows,
      random,
      Array.from({ length: documents }, (_, n) => n),
    )
    for (let round = 0; round < rounds; round++) {
      // While these are answered, documents change, files are damaged and a process is killed.
      const early = Promise.all(writers.map((writer) => writer.ask(questionsOf(random, 2))))
      const victim = random.below(2)
      const isQuick = random.below(2) === 0
      for (let part = 0; part < 4; part++) {
        change(random)
        if (!isQuick) await sleep(random.below(60))
      }
      if (round % 3 === 2) await rm(folder, { recursive: true, force: true, maxRetries: 20 })
      else if (round > 0) await damage(random, join(folder, 'org'))
      await sleep(random.below(150))
      await writers[victim]?.kill()
      // What the next one reads.
      await damage(random, join(folder, 'org'))
      writers[victim] = start()
      await early

      const questions = questionsOf(random, 8)
      const wanted = answersAnew(rows, questions)
      const answers = await Promise.all(writers.map((writer) => writer.ask(questions)))
      const message = `round ${round} of seed ${seed}, ${await names(folder)}`
      for (const found of answers) expect(found, message).to.deep.equal(wanted)
      written += (await names(folder)).length
    }
    expect(written, 'files after the rounds').to.be.above(0)
    for (const writer of writers) await writer.kill()
  })

  function start(): Writer {
    const script = new URL('storm-writer.ts', import.meta.url).pathname
    const words = ['--import', 'tsx', script, join(base, 'index.sqlite'), join(base, 'search')]
    return writerOver(endAfterFile(spawn(process.execPath, words, { stdio: 'pipe' })))
  }

  function change(random: Random): void {
    const some = Array.from({ length: 20 + random.below(200) }, () => random.below(documents))
    setNotes(rows, random, some)
    for (let n = 0; n < 5; n++) removeNode(rows, `n${random.below(documents)}`)
  }
})

function writerOver(child: ChildProcessWithoutNullStreams): Writer {
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  // The pipe of one that is killed.
  child.stdin.on('error', () => {})
  let isKilled = false
  return {
    ask: async (questions) => {
      child.stdin.write(`${JSON.stringify(questions)}\n`)
      const line = await lines.next()
      if (line.done === true && !isKilled) throw new Error(`The process ended by itself:\n${said}`)
      return line.done === true ? undefined : (JSON.parse(line.value) as string[])
    },
    kill: () => {
      isKilled = true
      child.kill('SIGKILL')
      return exited
    },
  }
}

/** One file is cut, has bits flipped, or is deleted; another process may remove it meanwhile. */
async function damage(random: Random, folder: string): Promise<void> {
  const found = (await readdir(folder).catch(() => [])).sort()
  if (found.length === 0) return
  const path = join(folder, random.pick(found))
  const content = await readFile(path).catch(() => Buffer.alloc(0))
  const at = random.below(Math.max(1, content.length))
  const way = random.below(3)
  if (content.length === 0 || way === 0) await rm(path, { force: true })
  else if (way === 1) await truncate(path, at).catch(() => {})
  else {
    // Behind the header.
    for (let i = 1_024 + (at % 512); i < content.length; i += 512)
      content[i] = (content[i] ?? 0) ^ (1 << random.below(8))
    await writeFile(path, content).catch(() => {})
  }
}

async function names(folder: string): Promise<string[]> {
  return readdir(join(folder, 'org')).catch(() => [])
}

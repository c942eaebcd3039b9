/**
 * Measures the CPU time of each test and file. Its unit is a loop that the same process runs. The figures of two machines, or
 * of one machine under different load, are comparable.
 */

import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** The cost of one test, or of a whole file with its hooks. */
export interface Cost {
  readonly file: string
  /** Undefined: the whole file. */
  readonly test?: string
  /** Milliseconds of CPU time on the reference machine. Threads and ended children count. */
  readonly ms: number
}

/** Milliseconds of CPU time that the loop takes on the reference machine. */
const referenceMs = 20

/** CPU time of this process and all children that have ended, in milliseconds. Children count in steps of 10 ms. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  const fields = readFileSync('/proc/self/stat', 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ')
  // man 5 proc_pid_stat: cutime and cstime are fields 16 and 17, and the state is field 3.
  return (user + system) / 1000 + (Number(fields[13]) + Number(fields[14])) * 10
}

/** Fills and reads a map, as most code does. Returns the least CPU time of several rounds in milliseconds. */
function calibrate(): number {
  const times = Array.from({ length: 7 }, () => {
    const before = process.cpuUsage()
    const map = new Map<string, number>()
    for (let i = 0; i < 60_000; i++) map.set(`key ${(i * 7919) % 60_013}`, i)
    let sum = 0
    for (const [key, value] of map) sum += key.length * value
    const { user, system } = process.cpuUsage(before)
    return sum > 0 ? (user + system) / 1000 : 0
  })
  return Math.min(...times)
}

let unit: number | undefined
let atFile = 0
let atTest = 0

const scaled = (ms: number) => {
  unit ??= calibrate()
  return Math.round((ms * referenceMs) / unit)
}

const record = (cost: Cost) => {
  const folder = process.env.GROVE_RUN_FOLDER
  if (folder !== undefined) appendFileSync(join(folder, `costs-${process.pid}.jsonl`), `${JSON.stringify(cost)}\n`)
}

export const costHooks = {
  beforeAll() {
    scaled(0)
    atFile = cpuMs()
  },
  beforeEach() {
    atTest = cpuMs()
  },
  afterEach(this: Mocha.Context) {
    const test = this.currentTest
    if (test?.file) record({ file: relative('.', test.file), test: test.fullTitle(), ms: scaled(cpuMs() - atTest) })
  },
  afterAll(this: Mocha.Context) {
    const file = fileOf(this.test?.parent)
    if (file !== undefined) record({ file: relative('.', file), ms: scaled(cpuMs() - atFile) })
  },
}

function fileOf(suite: Mocha.Suite | undefined): string | undefined {
  return suite?.file ?? suite?.suites.map(fileOf).find((file) => file !== undefined)
}

/** Reads the costs that the processes of this run have written. */
export function costsOf(folder: string): Cost[] {
  const files = readdirSync(folder).filter((name) => name.startsWith('costs-'))
  return files.flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line): Cost => JSON.parse(line)),
  )
}

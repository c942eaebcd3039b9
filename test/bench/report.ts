/** Prints the results of a run: each section as it completes, and one table of ratios at the end. */

import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus, totalmem } from 'node:os'

export interface Row {
  readonly what: string
  readonly p50: number
  readonly p99: number
}

export type Wanted = { readonly atMost: number } | { readonly atLeast: number }

export interface Ratio {
  readonly what: string
  /** The unit of the two numbers, such as `ms` or `/s`. */
  readonly unit: string
  /** Undefined if the program that measures it is not installed. */
  readonly grove: number | undefined
  readonly peer: string
  /** Undefined also if the peer is not installed. */
  readonly of: number | undefined
  /** The bound of Grove's number divided by the peer's. Absent if nothing is promised. */
  readonly wanted?: Wanted
}

export interface Report {
  rows(title: string, unit: string, rows: readonly Row[]): void
  say(line: string): void
  ratio(ratio: Ratio): void
  /** Prints the table of all ratios. Returns how many are out of their bounds. */
  finish(): number
}

export function createReport(): Report {
  const ratios: Ratio[] = []
  const started = performance.now()
  const seconds = () => `${((performance.now() - started) / 1_000).toFixed(0)} s`
  return {
    rows: (title, unit, rows) => {
      console.log(`\n${title} [${seconds()}]\n`)
      printTable([['what', `p50 ${unit}`, `p99 ${unit}`], ...rows.map(rowCells)])
    },
    say: (line) => console.log(line),
    ratio: (ratio) => void ratios.push(ratio),
    finish: () => {
      console.log(`\nratios [${seconds()}]\n`)
      printTable([['what', 'Grove', 'peer', '', 'ratio', 'wanted', 'ok'], ...ratios.map(ratioCells)])
      return ratios.filter((ratio) => isAsWanted(ratio) === false).length
    },
  }
}

/** Describes cores, memory and versions in one line. */
export function machineLine(): string {
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`
  const git = execFileSync('git', ['--version']).toString().trim()
  return `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${memory}, node ${process.version}, ${git}`
}

/** Prints columns as wide as their widest cell. The first row is the head. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, at) => (isNumber(row[at]) ? (row[at] ?? '').padStart(width) : (row[at] ?? '').padEnd(width))).join(' | ')} |`
  for (const [at, row] of rows.entries()) {
    console.log(line(row))
    if (at === 0) console.log(line(widths.map((width) => '-'.repeat(width))))
  }
}

function isNumber(cell = ''): boolean {
  return /^(1\/)?-?[\d,.]+(\s\S+)?$/.test(cell)
}

function rowCells({ what, p50, p99 }: Row): string[] {
  return [what, shown(p50), shown(p99)]
}

function ratioCells(ratio: Ratio): string[] {
  const { what, unit, grove, peer, of, wanted } = ratio
  const ok = isAsWanted(ratio)
  return [
    what,
    grove === undefined ? 'not measured' : `${shown(grove)} ${unit}`,
    peer,
    of === undefined ? 'not installed' : `${shown(of)} ${unit}`,
    grove === undefined || of === undefined ? '' : quotient(grove / of),
    wanted === undefined ? '' : 'atMost' in wanted ? `<= ${wanted.atMost}` : `>= ${wanted.atLeast}`,
    ok === undefined ? '' : ok ? 'yes' : 'NO',
  ]
}

function isAsWanted({ grove, of, wanted }: Ratio): boolean | undefined {
  if (grove === undefined || of === undefined || wanted === undefined) return undefined
  return 'atMost' in wanted ? grove / of <= wanted.atMost : grove / of >= wanted.atLeast
}

/** Formats a ratio. A small one is shown as a fraction: 1/352. */
function quotient(ratio: number): string {
  return ratio >= 0.1 || ratio === 0 ? shown(ratio) : `1/${shown(1 / ratio)}`
}

/** Formats with three significant digits, or with all digits before the point. */
function shown(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

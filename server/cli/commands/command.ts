/** Shared parts of the commands: the call, the data folder, the terminal. */
import { stat } from 'node:fs/promises'
import { isAbsent } from '../../../gitstore/fs-exists.ts'
import { type Role, roles } from '../../../index/derived/schema.ts'
import type { Config } from '../../base/config.ts'
import { plural } from '../../base/plural.ts'
import type { PathProblem } from '../../domain/format/path-problem.ts'
import { printable } from '../../domain/format/text-rules.ts'
import { isId } from '../../domain/layout.ts'
import type { Services } from '../../domain/services.ts'
import { createLog } from '../../http/log/log.ts'
import { type Opened, type OpenOptions, openDeps } from '../../process/bootstrap.ts'
import { type Progress, progressOn } from '../progress.ts'

/** The context of a command. */
export interface Call {
  readonly config: Config
  /** Aborted when the command is interrupted. */
  readonly signal: AbortSignal
}

/** One run of the program. */
export interface Run {
  /** Returns the context. Not for `serve`, which handles signals itself, nor `mcp`, which has no data folder. */
  call(): Call
  /** Returns the signal that is aborted when the command is interrupted. */
  signal(): AbortSignal
  /** Sets the exit code. */
  ends(code: number): void
}

/** An error that the caller can correct. The message goes to standard error, and the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** Opens the data folder, which may be in use, and runs `work`. */
export async function withDeps<T>(
  { config, signal }: Call,
  work: (deps: Services, index: Opened['index']) => Promise<T>,
  options: Pick<OpenOptions, 'embeds'> = {},
): Promise<T> {
  const level = config.logLevel === 'info' ? 'warn' : config.logLevel
  const opened = await openDeps(config, { ...options, log: createLog(level), draining: signal })
  try {
    return await work(opened.deps, opened.index)
  } finally {
    await opened.close()
  }
}

/** @throws UsageError */
export async function requireFolder(path: string): Promise<void> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    (error: unknown) => {
      if (isAbsent(error)) return false
      throw new UsageError(`${path} cannot be read: ${error instanceof Error ? error.message : error}`)
    },
  )
  if (!isFolder) throw new UsageError(`${path} is not a folder`)
}

/** Returns the id in lower case, as in folder names. @throws UsageError */
export function requireOrgId(text: string): string {
  const id = text.toLowerCase()
  if (!isId(id)) throw new UsageError(`${text} is not an organisation id`)
  return id
}

/** @throws UsageError */
export function requireRoleName(text: string): Role {
  const role = roles.find((one) => one === text)
  if (role === undefined) throw new UsageError(`${text} is not a role; use one of ${roles.join(', ')}`)
  return role
}

/** Returns the time of the option `--since` in milliseconds since 1970. @throws UsageError */
export function requireSince(text: string): number {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw new UsageError(`--since must be a time, such as 2025-07-14T09:30:00Z: ${text}`)
  return ms
}

/** Prints the problems. Returns the exit code: 1 if there are any. */
export function printProblems(problems: readonly PathProblem[]): number {
  if (problems.length > 0) printLine(problemsFound(problems.length))
  for (const { path, reason } of problems) printLine(`  ${path}: ${reason}`)
  return problems.length > 0 ? 1 : 0
}

export function problemsFound(count: number): string {
  return count === 0 ? 'OK: no problems found' : `${plural(count, 'problem')} found:`
}

/** Returns the text that a command's help ends with. */
export function examples(...lines: readonly string[]): string {
  return ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n')
}

export function progressFor(label: string): Progress {
  return progressOn(process.stderr, label, () => performance.now())
}

/** Prints a line that may contain untrusted text, without characters that control the terminal. */
export function printLine(line: string): void {
  process.stdout.write(`${printable(line)}\n`)
}

/** The command `grove`: runs the command line and sets the exit code. */

import { isMainThread } from 'node:worker_threads'
import { CommanderError } from 'commander'
import { ConfigError, readConfig } from '../base/config.ts'
import { AppError, ValidationError } from '../base/errors.ts'
import { printable } from '../domain/format/text-rules.ts'
import { explainFault } from '../process/start-errors.ts'
import { UsageError } from './commands/command.ts'
import { programOf } from './program.ts'
import { createInterruption, InterruptedError, type Interruption } from './signals.ts'

// In a thread, the code that loads this file calls runCommand.
if (isMainThread) void main()

async function main(): Promise<void> {
  // A reader that closes the pipe, as in `grove import … | head`, must not end the command.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
  process.exitCode = await runCommand(process.argv.slice(2))
}

/**
 * Runs one command.
 *
 * @param args the words after `grove`
 * @returns the exit code; undefined for `serve`, which keeps running
 */
export async function runCommand(args: readonly string[]): Promise<number | undefined> {
  let interruption: Interruption | undefined
  let code: number | undefined
  const signal = () => {
    interruption ??= createInterruption()
    return interruption.signal
  }
  const program = programOf({
    call: () => ({ signal: signal(), config: readConfig() }),
    signal,
    ends: (said) => {
      code = said
    },
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (thrown) {
    // After a signal, any error is a consequence of the interruption.
    const error: unknown = interruption?.signal.aborted ? interruption.signal.reason : thrown
    if (!(error instanceof CommanderError)) process.stderr.write(`grove: ${explain(error)}\n`)
    return exitCodeOf(error)
  } finally {
    interruption?.end()
  }
}

/** Returns 2 for an error that the caller can correct, 1 for a failure. After a signal: 128 plus its number. */
function exitCodeOf(error: unknown): number {
  if (error instanceof InterruptedError) return error.exitCode
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const isCallers = [UsageError, ConfigError, AppError, ValidationError].some((kind) => error instanceof kind)
  return isCallers ? 2 : 1
}

/** Returns a sentence for an expected error, the stack for any other. */
function explain(error: unknown): string {
  if (error instanceof ValidationError) return printable(error.problems.map(({ msg }) => msg).join('; '))
  const isAnswer = error instanceof Error && (exitCodeOf(error) === 2 || error instanceof InterruptedError)
  return isAnswer ? printable(error.message) : explainFault(error)
}

/** What a client sends, as the input of a git. */
import type { Readable } from 'node:stream'
import type { GitProcess } from '../native.ts'

/** Ends git's input where the client disconnects; git then reports the error itself. */
export function feed(input: Readable, { stdin }: GitProcess): void {
  const stop = () => stdin.end()
  input.once('error', stop)
  input.once('close', () => input.readableEnded || stop())
  // Git has ended its input, as it does once it has all of a pack; the client may still send, or say that it has sent all.
  stdin.once('close', () => input.unpipe(stdin))
  input.pipe(stdin)
}

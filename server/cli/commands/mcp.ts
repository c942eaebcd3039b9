/** `grove mcp`: connects a local model to a remote Grove, over the Model Context Protocol. */
import { printable } from '../../domain/format/text-rules.ts'
import { addressOf, RemoteRefusalError, readToken } from '../../domain/net/remote-grove.ts'
import { UsageError } from './command.ts'

export interface McpOptions {
  readonly to?: string
  readonly token?: string
  readonly tokenFile?: string
}

/** Largest length of a line on standard error, in characters. */
const lineChars = 300

/**
 * Serves until the client disconnects.
 *
 * @returns the exit code: 1 if the service never accepted the token
 * @throws UsageError; the reason of the signal
 */
export async function serveMcp(signal: AbortSignal, options: McpOptions): Promise<number> {
  const { url, token } = await connectionOf(options)
  // Loaded only here, because the other commands do not need the library.
  const { serveOnStdio } = await import('../../mcp/stdio.ts')
  const isTaken = await serveOnStdio({ url, token, signal }, ({ message }) => {
    process.stderr.write(`grove: ${printable(message.replace(/\s+/g, ' ').slice(0, lineChars))}\n`)
  })
  return isTaken ? 0 : 1
}

async function connectionOf({ to, token, tokenFile }: McpOptions) {
  if (to === undefined)
    throw new UsageError('Set GROVE_URL or --to to the URL of the Grove, such as https://grove.example.org')
  try {
    const url = addressOf(to)
    const given = tokenFile === undefined ? token : await readToken(tokenFile)
    if (given === undefined)
      throw new UsageError('Set GROVE_TOKEN to a personal access token, or --token-file to a file that contains one')
    return { url, token: given }
  } catch (error) {
    if (error instanceof RemoteRefusalError) throw new UsageError(error.message)
    throw error
  }
}

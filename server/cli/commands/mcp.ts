/** `grove mcp`: a Grove elsewhere, for a model on this machine that speaks the Model Context Protocol. */
import { printable } from '../../domain/format/text-rules.ts'
import { addressOf, RemoteRefusalError, readToken } from '../../vault/remote/client.ts'
import { UsageError } from './command.ts'

export interface McpOptions {
  readonly to?: string
  readonly token?: string
  readonly tokenFile?: string
}

/** Characters of a line on standard error. */
const lineChars = 300

/** Until the client goes. Returns the exit code: 1 where the service never took the token. @throws UsageError; the reason of the signal */
export async function serveMcp(signal: AbortSignal, options: McpOptions): Promise<number> {
  const { url, token } = await connectionOf(options)
  // The service and the other commands do without the library.
  const { serveOnStdio } = await import('../../mcp/stdio.ts')
  const isTaken = await serveOnStdio({ url, token, signal }, ({ message }) => {
    process.stderr.write(`grove: ${printable(message.replace(/\s+/g, ' ').slice(0, lineChars))}\n`)
  })
  return isTaken ? 0 : 1
}

async function connectionOf({ to, token, tokenFile }: McpOptions) {
  if (to === undefined) throw new UsageError('GROVE_URL, or --to, names the Grove, such as https://grove.example.org')
  try {
    const url = addressOf(to)
    const given = tokenFile === undefined ? token : await readToken(tokenFile)
    if (given === undefined)
      throw new UsageError('GROVE_TOKEN holds a personal access token, or --token-file names its file')
    return { url, token: given }
  } catch (error) {
    if (error instanceof RemoteRefusalError) throw new UsageError(error.message)
    throw error
  }
}

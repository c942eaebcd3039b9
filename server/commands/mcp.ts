/** `grove mcp`: a Grove elsewhere, for a model on this machine that speaks the Model Context Protocol. */
import { addressOf, readToken } from '../remote/address.ts'
import { RemoteRefusal } from '../remote/client.ts'
import { UsageError } from './command.ts'

export interface McpOptions {
  readonly to?: string
  readonly token?: string
  readonly tokenFile?: string
}

/** Until the client goes. Returns the exit code. @throws UsageError; the reason of the signal */
export async function serveModels(signal: AbortSignal, options: McpOptions): Promise<number> {
  const { url, token } = await connectionOf(options)
  // The service and the other commands do without the library.
  const { serveOnStdio } = await import('../mcp/stdio.ts')
  await serveOnStdio({ url, token, signal }, ({ message }) => process.stderr.write(`grove: ${message}\n`))
  return 0
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
    if (error instanceof RemoteRefusal) throw new UsageError(error.message)
    throw error
  }
}

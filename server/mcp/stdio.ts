/** The Model Context Protocol on standard input and output, over a Grove elsewhere. */

import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { GroveError, grove, Invalid } from '../../spec/client/client.ts'
import { mcpServer } from './server.ts'
import type { Session, Told } from './session.ts'

interface Options {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string
  readonly signal: AbortSignal
}

/** No organisation has it. */
const nobodys = '00000000-0000-0000-0000-000000000000'

/** Until standard input ends. @throws the reason of the signal. What is wrong with the library goes to `onError`. */
export async function serveOnStdio({ url, token, signal }: Options, onError: (error: Error) => void): Promise<void> {
  const api = grove({ url, token, signal })
  let canWrite: Promise<boolean> | undefined
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve)
    signal.addEventListener('abort', () => resolve())
  })
  const connection = serveStdio(
    async () => {
      canWrite ??= mayWrite(api).catch((error: unknown) => {
        canWrite = undefined
        throw error
      })
      const session: Session = { api, base: url, canWrite: await canWrite, tell, ends: () => {}, calls: () => {} }
      return mcpServer(session)
    },
    { maxSubscriptions: 0, onerror: onError },
  )
  await ended
  await connection.close()
  signal.throwIfAborted()
}

/** Asks for a change that cannot happen: whether a token writes is judged first. */
async function mayWrite(api: Session['api']): Promise<boolean> {
  try {
    await api.deleteNode({ path: { org_id: nobodys, node_id: nobodys } })
  } catch (error) {
    if (!(error instanceof GroveError)) throw error
    if (error.status === 401 || error.code === 'no_answer') throw error
    return error.problem.token_access !== 'read'
  }
  return true
}

function tell(error: unknown): Told {
  if (!(error instanceof GroveError))
    return { status: 500, code: 'internal_error', message: 'The call failed here', problems: [] }
  const { status, code, message, problem } = error
  const isInvalid = error instanceof Invalid
  const files = (problem.merge_problems ?? []).map(({ path, reason }) => ({ loc: ['file', path], msg: reason }))
  const problems = isInvalid ? error.fields : files
  const said = isInvalid ? 'The request is not valid' : message
  return { status, code, message: said, problems, currentHead: problem.current_head, number: problem.number }
}

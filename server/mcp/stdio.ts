/** The Model Context Protocol on standard input and output, for a remote Grove. */

import { createHash } from 'node:crypto'
import { GroveError, grove, Invalid } from '../../spec/client/client.ts'
import { boundedAnswer } from './bounded-answer.ts'
import { Lines } from './lines.ts'
import { refusalLine } from './refusals.ts'
import { serveStdio } from './sdk.ts'
import { mcpServer } from './server.ts'
import type { Caller, RefusalFacts, Session } from './session.ts'

interface Options {
  /** The URL of the service, without a trailing slash. */
  readonly url: string
  readonly token: string
  readonly signal: AbortSignal
}

/** An id that no organisation and no node has. */
const nobodys = '00000000-0000-0000-0000-000000000000'

/**
 * Serves until standard input has ended and every request is answered. Errors in messages go to `onError`.
 *
 * @returns false if the service was called, but never answered or never accepted the token
 * @throws the reason of the signal
 */
export async function serveOnStdio({ url, token, signal }: Options, onError: (error: Error) => void): Promise<boolean> {
  let [isAsked, isTaken] = [false, false]
  const api = grove({
    ...{ url, token, signal },
    fetch: async (address, init) => {
      isAsked = true
      const response = await fetch(address, named(init))
      isTaken ||= response.status !== 401
      return await boundedAnswer(response)
    },
  })
  const lines = new Lines()
  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  let scope: Promise<Scope> | undefined
  let known: Caller | undefined
  const caller = async () => {
    known ??= await callerOf(api, token)
    return known
  }
  const findScope = () => {
    scope ??= scopeOf(api).catch((error: unknown) => {
      scope = undefined
      throw error
    })
    return scope
  }
  const connection = serveStdio(
    async () => {
      const session = { api, base: url, access: 'write', caller, factsOf, ends: () => {}, calls: () => {} } as const
      try {
        return mcpServer({ ...session, ...(await findScope()) })
      } catch (error) {
        if (!(error instanceof GroveError)) throw error
        // Each call repeats this to the model, which can ask a user.
        onError(new Error(refusalLine(factsOf(error))))
        return mcpServer({ ...session, findScope })
      }
    },
    { transport: lines, onerror: onError },
  )
  await Promise.race([lines.ended, aborted])
  await connection.close()
  signal.throwIfAborted()
  return isTaken || !isAsked

  function factsOf(error: unknown): RefusalFacts {
    if (!(error instanceof GroveError))
      return {
        status: 500,
        code: 'internal_error',
        message: 'The call failed in this program',
        isOwn: true,
        problems: [],
      }
    const { status, code, problem } = error
    const { merge_problems } = problem
    const files = Array.isArray(merge_problems)
      ? merge_problems.map(({ path, reason }) => ({ loc: ['file', path], msg: reason }))
      : []
    const isInvalid = error instanceof Invalid
    const { current_head: currentHead, number, entry, branch_prefix: branchPrefix, token_org_id: tokenOrgId } = problem
    return {
      ...{ status, code, ...messageOf(error), problems: isInvalid ? error.fields : files },
      ...{ currentHead, number, entry, branchPrefix, tokenOrgId },
    }
  }

  function messageOf(error: GroveError): Pick<RefusalFacts, 'message' | 'isOwn'> {
    if (error instanceof Invalid) return { message: 'The request is not valid', isOwn: true }
    if (error.code === 'no_answer') return { message: `${url} has not answered`, isOwn: true }
    return { message: error.message }
  }
}

/** Adds the name of this program. The service puts it into the commits that it writes. */
function named(init: RequestInit | undefined): RequestInit {
  const headers = new Headers(init?.headers)
  headers.set('Grove-Agent', 'grove-mcp')
  return { ...init, headers }
}

type Scope = Pick<Session, 'access' | 'orgId' | 'nodeId'>

/**
 * Finds the scope of the token by requesting a change that cannot happen. The service checks the scope first.
 *
 * @throws GroveError for any other answer
 */
async function scopeOf(api: Session['api']): Promise<Scope> {
  try {
    await api.deleteNode({ path: { org_id: nobodys, node_id: nobodys } })
  } catch (error) {
    if (!(error instanceof GroveError)) throw error
    const { token_access, token_org_id, token_node_id } = error.problem
    if (error.code === 'token_scope')
      return { access: token_access ?? 'write', orgId: token_org_id, nodeId: token_node_id }
    if (error.status !== 404) throw error
  }
  return { access: 'write' }
}

/** Finds the user of a token. A token of one organisation or node may not ask, and stands for itself. @throws GroveError */
async function callerOf(api: Session['api'], token: string): Promise<Caller> {
  try {
    const { id } = await api.getMe()
    return { key: id, userId: id }
  } catch (error) {
    if (!(error instanceof GroveError) || error.code !== 'token_scope') throw error
    return { key: createHash('sha256').update(token).digest('hex') }
  }
}

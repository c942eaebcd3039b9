/** Reads every answer of a service, so that two services can be compared. */

import { exchange } from './exchange.ts'
import type { Answer } from './people.ts'

/**
 * Reads everything in these organisations that a user may read. The texts, without the service's own URL, are keyed by
 * request.
 *
 * @throws Error with any answer of 500 or above
 */
export async function everythingIn(
  { url }: { readonly url: string },
  token: string,
  orgs: readonly string[],
  queries: readonly string[],
): Promise<Record<string, string>> {
  const answers: Record<string, string> = {}
  const ask = async (path: string, body?: unknown, authorization: Record<string, string> = bearer(token)) => {
    const request = body === undefined ? path : `${path} ${JSON.stringify(body)}`
    const response = await exchange(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    // The bytes depend on how the objects are packed.
    const usage = /,"usage":\{[^}]*\}/
    const text = response.text
      .replace(/,?"request_id":"[^"]*"/, '')
      .replace(usage, '')
      .replaceAll(url, '')
    if (response.status >= 500) throw new Error(`${request} answered ${response.status} ${text}`)
    answers[request] = `${response.status} ${text}`
    return response.status === 200 && /json/.test(response.headers['content-type'] ?? '') ? JSON.parse(text) : {}
  }
  /** Reads a whole list. A test makes less than a page of anything. */
  const list = async (path: string, name: string): Promise<Answer['body'][]> =>
    (await ask(`${path}${path.includes('?') ? '&' : '?'}limit=200`))[name] ?? []

  const asked = new Set<string>()
  const once = async (what: string, path: string): Promise<void> => {
    if (!asked.has(what)) await ask(path)
    asked.add(what)
  }

  const readNode = async (at: string) => {
    await ask(at)
    await ask(`${at}/path`)
    await list(`${at}/tags`, 'tags')
    await ask(`${at}/backlinks?limit=50`)
    const branches = await list(`${at}/branches`, 'branches')
    for (const { name } of branches) {
      const branch = `${at}/tree/${encodeURIComponent(name)}`
      await ask(`${at}/branches/${encodeURIComponent(name)}`)
      await ask(`${at}/compare?base=main&head=${encodeURIComponent(name)}`)
      for (const { entity_key, object_id } of await list(branch, 'entities')) {
        await ask(`${branch}/files/${encodeURIComponent(entity_key)}`)
        await once(`${at}/objects/${object_id}`, `${at}/objects/${object_id}`)
      }
      for (const { id } of await list(`${branch}/commits`, 'history')) {
        await once(id, `${branch}/commits/${id}`)
        await once(`checks of ${id}`, `${at}/checks/${id}`)
      }
    }
    for (const status of ['open', 'merged', 'closed'])
      await list(`${at}/pull-requests?status=${status}`, 'pull_requests')
    for (const { number } of await list(`${at}/pull-requests?status=all`, 'pull_requests')) {
      const { pr } = await ask(`${at}/pull-requests/${number}`)
      await ask(`${at}/pull-requests/${number}/changes-since?commit=${pr.source_commit}`)
      await ask(`${at}/pull-requests/${number}/changes`)
      await list(`${at}/pull-requests/${number}/commits`, 'commits')
      await readConversation(`${at}/pull-requests/${number}`)
    }
  }

  const readConversation = async (at: string) => {
    for (const state of ['open', 'resolved', 'all']) await list(`${at}/threads?state=${state}`, 'threads')
    await list(`${at}/reviews`, 'reviews')
    for (const { entry, kind } of await list(`${at}/timeline`, 'entries'))
      if (kind === 'comment' || kind === 'review') await ask(`${at}/${kind}s/${entry}`)
  }

  await list('/orgs', 'orgs')
  for (const org of orgs) {
    await ask(`/orgs/${org}`)
    await list(`/orgs/${org}/members`, 'members')
    await list(`/orgs/${org}/repositories`, 'repositories')
    for (const { id } of await list(`/orgs/${org}/nodes`, 'nodes')) {
      await readNode(`/orgs/${org}/nodes/${id}`)
      await list(`/orgs/${org}/nodes?parent_id=${id}`, 'nodes')
    }
    await list(`/orgs/${org}/nodes?tag=sea`, 'nodes')
    await list(`/orgs/${org}/tags`, 'tags')
    for (const { name } of await list(`/orgs/${org}/types`, 'types')) {
      await list(`/orgs/${org}/types/${name}/problems`, 'problems')
      await list(`/orgs/${org}/types/${name}/history`, 'history')
    }
    for (const { name } of await list(`/orgs/${org}/tags?order=name`, 'tags'))
      await list(`/orgs/${org}/tags/nodes?tag=${encodeURIComponent(name)}`, 'nodes')
    await list(`/orgs/${org}/changes`, 'changes')
    await list(`/orgs/${org}/pull-requests?status=all`, 'pull_requests')
    await list(`/orgs/${org}/pull-requests?status=all&reviewer=me`, 'pull_requests')
    await ask(`/public/orgs/${org}/graph`, undefined, {})
    for (const query of queries) {
      for (const expansion_depth of ['none', 'shallow', 'standard', 'deep'])
        await ask(`/orgs/${org}/search/retrieve`, { query, expansion_depth, include_raw_text: true })
    }
  }
  return answers
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

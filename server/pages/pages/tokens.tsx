/** The personal access tokens of the signed-in user. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { hidden, more, reference } from '../kit/controls.tsx'
import { Secret } from '../kit/parts.tsx'
import { meFrame } from '../kit/scene-frames.tsx'
import { act, settings } from '../kit/settings.tsx'
import type { PageContext } from '../page-context.ts'
import { reachOf, Tokens, tokenControls } from '../parts/tokens.tsx'

/** Organisations listed. */
const mostOrgs = 100
const { node_id, expires_at, ...controls } = tokenControls

export const tokensPage = settings({
  frame: meFrame('tokens'),
  title: 'Tokens',
  why: 'Use a token instead of your password with Git and other programs.',
  async read({ api }) {
    const { tokens } = await api.listTokens({ query: { limit: limits.tokens } })
    return { tokens, orgs: (await api.listOrgs({ query: { limit: mostOrgs } })).orgs }
  },
  acts: {
    create: act(
      'Create token',
      { ...controls, ...more({ org_id: reference('Organisation') }), node_id, expires_at },
      async (visit, body) => {
        const made = await visit.api.createToken({ body })
        return <Secret what="token" title={made.name} secret={made.token} lines={await linesFor(visit, made)} />
      },
    ),
    revoke: act('Revoke', { token_id: hidden }, ({ api }, path) => api.revokeToken({ path }), 'stop'),
  },
  view: ({ tokens, orgs }, { form, ask, visit }) => (
    <Tokens
      {...{ tokens, empty: 'You have no tokens yet.', most: limits.tokens }}
      place={(token) => reachOf(token, orgs)}
      form={form('create', {
        values: Object.fromEntries(visit.query),
        options: { org_id: [['', 'all your organisations'], ...orgs.map(({ id, name }) => [id, name] as const)] },
      })}
    >
      {({ id, name }, question) => ask('revoke', question, { values: { token_id: id }, of: name })}
    </Tokens>
  ),
})

/** Returns commands to try the token, for its own node or another one. */
async function linesFor(
  { api, urls }: PageContext,
  { token, org_id, node_id }: AnswerOf<'createToken'>,
): Promise<string[]> {
  const org = org_id ?? (await api.listOrgs({ query: { limit: 1 } })).orgs[0]?.id
  const node = node_id ?? (org && (await api.listNodes({ path: { org_id: org }, query: { limit: 1 } })).nodes[0]?.id)
  const header = `Authorization: Bearer ${token}`
  const model = `claude mcp add --transport http grove ${urls.base}/mcp --header "${header}"`
  if (!org || !node) return [`curl -H "${header}" ${urls.base}/orgs`, model]
  const { clone_url } = await api.getNode({ path: { org_id: org, node_id: node } })
  return [
    `git -c http.extraHeader="${header}" clone ${clone_url}`,
    `curl -H "${header}" ${urls.base}/orgs/${org}/nodes/${node}`,
    model,
  ]
}

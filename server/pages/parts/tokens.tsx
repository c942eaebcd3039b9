/** The tokens of users and bots: their form, their rows, and words about them. */

import type { ComponentChildren } from 'preact'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { choice, expiry, line, optionalLine } from '../kit/controls.tsx'
import { Row, Rows } from '../kit/parts.tsx'
import { When } from './dates.tsx'

type Token = AnswerOf<'listBotTokens'>['tokens'][number]
type Reach = Pick<AnswerOf<'listTokens'>['tokens'][number], 'org_id' | 'node_id'>
type Orgs = AnswerOf<'listOrgs'>['orgs']

const accesses: readonly (readonly [Token['access'], string])[] = [
  ['read', 'read'],
  ['propose', 'read and propose changes'],
  ['write', 'read and change'],
]

export function accessWords(access: Token['access']): string {
  return `can ${accesses.find(([one]) => one === access)?.[1]}`
}

/** The controls of a new token. */
export const tokenControls = {
  name: line('Name', { hint: 'the device or program that uses it', most: limits.displayName }),
  access: choice('Access', accesses, {
    hint: 'for an agent: read and propose changes. It changes only branches below agent/, and users merge its proposals',
    // Users decide on what agents propose.
    start: 'propose',
  }),
  node_id: optionalLine('Node', { hint: 'optional: the id of the only page that the token can use' }),
  expires_at: expiry([30, 90, 365], 90, 'never'),
}

interface RowsProps<T> {
  readonly tokens: readonly T[]
  readonly empty: string
  /** Names where a token can be used. */
  place(token: T): string | undefined
  /** Asks before a token is revoked. */
  readonly children: (token: T, question: string) => ComponentChildren
}

/** Tokens: what they can do, and when they expire. */
export function TokenRows<T extends Token>({ tokens, empty, place, children }: RowsProps<T>) {
  return (
    <Rows of={tokens} empty={empty}>
      {(token) => (
        <Row
          title={
            <>
              <strong>{token.name}</strong> <span class="ref">…{token.hint}</span>
            </>
          }
          facts={
            <>
              {accessWords(token.access)}
              {place(token) && ` in ${place(token)}`} · <Expiry time={token.expires_at} /> ·{' '}
              <LastUsed time={token.last_used_at} />
            </>
          }
        >
          {children(token, 'Anything that uses this token loses access immediately.')}
        </Row>
      )}
    </Rows>
  )
}

function Expiry({ time }: { readonly time: string | undefined }) {
  if (time === undefined) return <>never expires</>
  return (
    <>
      {Date.parse(time) < Date.now() ? 'expired' : 'expires'} <When time={time} />
    </>
  )
}

export function LastUsed({ time }: { readonly time: string | undefined }) {
  if (time === undefined) return <>never used</>
  return (
    <>
      last used <When time={time} />
    </>
  )
}

/** Names the organisations or the node that a token or a connection can use. */
export function reachOf({ org_id, node_id }: Reach, orgs: Orgs): string {
  if (org_id === undefined) return 'all your organisations'
  const org = orgs.find(({ id }) => id === org_id)?.name ?? org_id
  return node_id === undefined ? org : `node ${node_id} in ${org}`
}

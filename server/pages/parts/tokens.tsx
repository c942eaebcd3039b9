/** The tokens of users and bots: their form, their rows, and words about them. */

import type { ComponentChildren, VNode } from 'preact'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Answers, expiry, line, more, optionalLine, question } from '../kit/controls.tsx'
import { Collection, Row } from '../kit/parts.tsx'
import { When } from './dates.tsx'

type Token = AnswerOf<'listBotTokens'>['tokens'][number]
type Reach = Pick<AnswerOf<'listTokens'>['tokens'][number], 'org_id' | 'node_id'>
type Orgs = AnswerOf<'listOrgs'>['orgs']

const accesses = [
  ['propose', 'Propose', 'People review each change before it is published. It changes only branches below agent/.'],
  ['write', 'Publish', 'Changes are published at once, where its owner may publish.'],
  ['read', 'Read only', 'Can read, and change nothing.'],
] as const satisfies Answers<Token['access']>

export function accessWords(access: Token['access']): string {
  return `can ${accesses.find(([one]) => one === access)?.[1].toLowerCase()}`
}

/** Why forms begin with *propose* for programs. */
export const forAssistants = 'For an assistant, choose “Propose”: then people decide what is published.'

/** The controls of a new token. */
export const tokenControls = {
  name: line('Name', { hint: 'the device or program that uses it', most: limits.displayName }),
  access: question('May it propose, or publish?', accesses, { hint: forAssistants, start: 'propose' }),
  ...more({
    node_id: optionalLine('Node', { hint: 'the id of the only page that the token can use' }),
    expires_at: expiry([30, 90, 365], 90, 'never'),
  }),
}

interface TokensProps<T> {
  readonly tokens: readonly T[]
  readonly empty: string
  readonly most: number
  /** Creates one. */
  readonly form: VNode
  /** Names where a token can be used. */
  place(token: T): string | undefined
  /** Asks before a token is revoked. */
  readonly children: (token: T, question: string) => ComponentChildren
}

/** Tokens: what they can do, and when they expire. */
export function Tokens<T extends Token>({ tokens, empty, most, form, place, children }: TokensProps<T>) {
  return (
    <Collection of={tokens} {...{ empty, most, form }} title="Create a token">
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
    </Collection>
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

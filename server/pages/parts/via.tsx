/** The program with which a user made a change. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { Urls } from '../urls.ts'

type Recorded = NonNullable<AnswerOf<'getPull'>['pr']['opened_via']>

/** Shows ` via Claude` after the name of a user. Nothing without a program. */
export function ViaName({ via }: { readonly via: { readonly client_name?: string } | undefined }) {
  if (via?.client_name === undefined) return null
  return (
    <span class="via">
      {' '}
      via <bdi>{via.client_name}</bdi>
    </span>
  )
}

interface ViaLineProps {
  readonly via: Recorded | undefined
  readonly urls: Urls
  /** True if the reader opened the proposal, and can end the connection. */
  readonly isOwn: boolean
}

/** Says with which program a proposal was opened. */
export function ViaLine({ via, urls, isOwn }: ViaLineProps) {
  if (via?.client === undefined) return null
  return (
    <p class="why">
      Opened with <bdi>{via.client_name ?? via.client}</bdi>
      {via.client.startsWith('https:') && (
        <>
          {' '}
          (<bdi>{via.client}</bdi>)
        </>
      )}
      {words[via.by]}
      {isOwn && via.by === 'connection' && (
        <>
          {' '}
          <a href={urls.me('connections')}>Your connections</a>
        </>
      )}
    </p>
  )
}

const words: Readonly<Record<Recorded['by'], string>> = {
  session: '.',
  token: ', with a personal access token.',
  connection: ', which the author has connected.',
  bot: ', by a bot of the organisation.',
}

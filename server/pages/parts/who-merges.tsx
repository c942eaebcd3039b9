/** Names the users who merge proposals into `main`, within a sentence. */

import type { Urls } from '../urls.ts'
import type { AtNode } from './node-head.tsx'

interface Props {
  readonly urls: Urls
  readonly org: Pick<AtNode['org'], 'id' | 'rules'>
  /** True if rules hold for `main`. */
  readonly isRuled: boolean
}

/** The subject of a sentence such as "… merges them". */
export function WhoMerges({ urls, org, isRuled }: Props) {
  if (!isRuled) return <>an editor</>
  if ((org.rules ?? []).length === 0) return <>a maintainer</>
  return (
    <>
      a member whom <a href={urls.settings(org.id, 'rules')}>the rules</a> allow
    </>
  )
}

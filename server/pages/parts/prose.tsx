/** Rendered Markdown, with the script that draws its diagrams if it has some. */

import { assetName } from '../assets.ts'
import { hasDiagrams } from '../text/mermaid.ts'
import type { Urls } from '../urls.ts'

interface ProseProps {
  readonly urls: Urls
  readonly html: string
  /** Further classes. */
  readonly look?: string
}

export function Prose({ urls, html, look = '' }: ProseProps) {
  return (
    <>
      <div class={`${look} prose`.trim()} dangerouslySetInnerHTML={{ __html: html }} />
      {hasDiagrams(html) && <script type="module" src={urls.asset(assetName('diagrams.js'))} />}
    </>
  )
}

/** The headings of a text below the title of its page. */

import { expect } from 'chai'
import { renderText } from '../../server/pages/text/rendering.ts'

const shown = (text: string) => {
  const { html, headings } = renderText(text, 'Krill', () => undefined)
  const tags = [...html.matchAll(/<(h\d)[^>]*>([^<]*)</g)].map(([, tag, words]) => `${tag} ${words}`)
  return { tags, listed: headings.map(({ level, text }) => `${level} ${text}`) }
}

describe('headings of a text', () => {
  it('are a level lower if it has an h1 beside the title, which the page has; the list beside it has two levels', () => {
    const lowered = { tags: ['h2 Food', 'h3 Plants', 'h6 Deep', 'h2 Life'], listed: ['2 Food', '3 Plants', '2 Life'] }
    expect(shown('# Krill\n\n# Food\n\n## Plants\n\n###### Deep\n\nLife\n====\n')).to.deep.equal(lowered)
    const kept = { tags: ['h2 Food', 'h3 Plants'], listed: ['2 Food', '3 Plants'] }
    expect(shown('# Krill\n\n## Food\n\n### Plants\n')).to.deep.equal(kept)
    expect(shown('## Food\n\n### Plants\n')).to.deep.equal(kept)
  })

  it('are not in the list without words, and the link to such a heading has a name', () => {
    const text = '## Food\n\n## ![](a.png)\n'
    expect(shown(text).listed).to.deep.equal(['2 Food'])
    expect(renderText(text, '', () => undefined).html).to.include('aria-label="Link to this heading"')
  })
})

/** The first words of a text, as cards of links show them. */

import { expect } from 'chai'
import { excerpt } from '../../server/pages/client/excerpt.ts'

describe('the first words of a text', () => {
  it('have no syntax, and formulas as their source', () => {
    const text =
      '> [!example]- Title\nLet $\\mathcal{L}\\{f\\}$ be ==marked==[^1], <kbd>K</kbd>. %% hidden %% $5 and $6, a == b.\n'
    expect(excerpt(text, 200)).to.equal('Title Let $\\mathcal{L}\\{f\\}$ be marked, K. $5 and $6, a == b.')
  })
})

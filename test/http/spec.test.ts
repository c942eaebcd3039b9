/** The spec as the service sends it. */

import { expect } from 'chai'
import document from '../../spec/openapi.json' with { type: 'json' }
import { useWorld } from '../support/world.ts'

describe('the spec that the service sends', () => {
  const world = useWorld({}, { publicUrl: 'https://wiki.example.org' })

  it('is the same compressed and plain, and names the URL of the service', async () => {
    const tags = new Set<string | null>()
    for (const encoding of ['gzip', 'identity']) {
      const answer = await fetch(`${world.grove.url}/openapi.json`, { headers: { 'accept-encoding': encoding } })
      expect(answer.headers.get('content-encoding')).to.equal(encoding === 'gzip' ? 'gzip' : null)
      tags.add(answer.headers.get('etag'))
      const { servers, ...rest } = (await answer.json()) as typeof document // what the service promises to send
      expect(servers[0]?.url).to.equal('https://wiki.example.org')
      expect(rest).to.deep.equal(Object.fromEntries(Object.entries(document).filter(([name]) => name !== 'servers')))
    }
    expect([...tags]).to.have.length(1)
    const headers = { 'if-none-match': [...tags][0] ?? '' }
    expect((await fetch(`${world.grove.url}/openapi.json`, { headers })).status).to.equal(304)
  })
})

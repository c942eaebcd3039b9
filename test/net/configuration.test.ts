/** The variables that open more hosts to fetches. */

import { expect } from 'chai'
import { ConfigError, effectiveVariables, readConfig } from '../../server/base/config.ts'

describe('the configuration of fetches', () => {
  it('is a list of networks and names, or says which entry is wrong', () => {
    expect(readConfig({}).fetchAllow).to.equal(undefined)
    const given = { FETCH_ALLOW: '10.1.2.0/24, hooks.internal' }
    expect(readConfig(given).fetchAllow).to.deep.equal(['10.1.2.0/24', 'hooks.internal'])
    expect(effectiveVariables(given).find(({ name }) => name === 'FETCH_ALLOW')?.value).to.equal(
      '10.1.2.0/24,hooks.internal',
    )
    for (const [list, wrong] of [
      ['10.1.2.0/24,http://hooks.internal', 'http://hooks.internal'],
      ['10.1.2.0/24,', ''],
      ['0.0.0.0/0', '0.0.0.0/0'],
    ] as const) {
      expect(() => readConfig({ FETCH_ALLOW: list }), list)
        .to.throw(ConfigError)
        .with.property(
          'message',
          `FETCH_ALLOW: must be a list of IP addresses, networks and host names, such as 10.1.2.0/24, hooks.internal, not "${wrong}"`,
        )
    }
  })

  it('allows http for webhooks only if the operator says so', () => {
    const read = (WEBHOOK_HTTP: string) => readConfig({ WEBHOOK_HTTP }).webhookHttp
    expect([readConfig({}).webhookHttp, read('off'), read('on')]).to.deep.equal([false, false, true])
    expect(() => read('yes')).to.throw(ConfigError, 'WEBHOOK_HTTP: must be one of on, off, not "yes"')
  })
})

/** The settings of providers, `OIDC_<ID>_…`: each bad value is named with its variable, and nothing else fails. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { ConfigError, effectiveVariables, readConfig } from '../../server/base/config.ts'
import { cliWith } from '../operator/desk.ts'
import { type Liar, startLiar } from './liar.ts'

const right = { OIDC_ACME_ISSUER: 'https://id.acme.example', OIDC_ACME_CLIENT_ID: 'grove' }

/** The refusal of a configuration. Undefined: it is accepted. */
function refusal(variables: Readonly<Record<string, string>>): string | undefined {
  try {
    readConfig(variables)
    return undefined
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

describe('the settings of providers', () => {
  it('have defaults, and become providers in the order of their ids', () => {
    const { oidc } = readConfig({ ...right, OIDC_A1_ISSUER: 'http://127.0.0.1:8080/realms/x', OIDC_A1_CLIENT_ID: 'x' })
    const defaults = { scopes: 'openid email profile', verified: 'email_verified', linksByEmail: false }
    expect(oidc).to.deep.equal([
      {
        ...{ id: 'a1', name: 'A1', issuer: 'http://127.0.0.1:8080/realms/x', clientId: 'x' },
        ...{ ...defaults, maxAgeHours: 168, tokensDays: 0 },
      },
      {
        ...{ id: 'acme', name: 'Acme', issuer: 'https://id.acme.example', clientId: 'grove' },
        ...{ ...defaults, maxAgeHours: 168, tokensDays: 0 },
      },
    ])
    expect(readConfig({}).oidc).to.equal(undefined)
  })

  it('are read as they are written', () => {
    const [provider] =
      readConfig({
        ...right,
        OIDC_ACME_CLIENT_SECRET: 's3cret',
        OIDC_ACME_NAME: 'Acme & Sons',
        OIDC_ACME_SCOPES: 'openid email',
        OIDC_ACME_SIGNUP: 'invite',
        OIDC_ACME_REQUIRE: 'https://acme.example/groups:grove, staff',
        OIDC_ACME_VERIFIED: 'xms_edov',
        OIDC_ACME_LINK: 'verified_email',
        OIDC_ACME_ORG: '01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02:maintainer',
        OIDC_ACME_MAX_AGE: '0',
        OIDC_ACME_TOKENS_DAYS: '30',
      }).oidc ?? []
    expect(provider).to.deep.equal({
      ...{ id: 'acme', name: 'Acme & Sons', issuer: 'https://id.acme.example', clientId: 'grove' },
      ...{ clientSecret: 's3cret', scopes: 'openid email', signup: 'invite', verified: 'xms_edov', linksByEmail: true },
      require: { claim: 'https://acme.example/groups', values: ['grove', 'staff'] },
      org: { id: '01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02', role: 'maintainer' },
      ...{ maxAgeHours: 0, tokensDays: 30 },
    })
  })

  const notIssuer = 'must be an https URL, or http on this machine, without a query, a fragment or a user'
  const notTenant = 'names no tenant: use the issuer of your own tenant'
  const notOrg =
    'must be the id of an organisation and a role of reader, contributor, editor, maintainer, such as 01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02:reader'
  const id = '01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02'

  for (const [setting, says, values] of [
    [
      'ISSUER',
      notIssuer,
      ['acme.example', 'http://id.acme.example', 'ftp://x', 'https://x/?a', 'https://x/#a', 'https://me@x/', '//x'],
    ],
    [
      'ISSUER',
      notTenant,
      [
        'https://login.microsoftonline.com/common/v2.0',
        'https://login.microsoftonline.com/organizations/v2.0',
        'https://login.microsoftonline.com/{tenantid}/v2.0',
      ],
    ],
    ['NAME', 'must have at most 60 characters', ['x'.repeat(61)]],
    ['SCOPES', 'must contain openid', ['email profile', 'OPENID', 'openid,email']],
    ['SIGNUP', 'must be one of on, invite, off', ['open', 'yes', 'On']],
    ['REQUIRE', 'must be a claim and its values, such as hd:example.org', ['hd', ':acme.com', 'hd:']],
    ['VERIFIED', 'must be one of email_verified, xms_edov, always', ['true', 'email']],
    ['LINK', 'must be one of off, verified_email', ['on', 'email']],
    ['ORG', notOrg, [id, `${id}:owner`, `${id}:`, 'atlas:reader', `${id.toUpperCase()}:reader`]],
    ['MAX_AGE', 'must be a whole number from 0 to 8760', ['-1', '1.5', '8761', 'a day', ' ', '0x10']],
    ['TOKENS_DAYS', 'must be a whole number from 0 to 3650', ['-1', '3651', '1e2']],
  ] as const)
    it(`refuse a bad ${setting}: ${says.slice(0, 40)}`, () => {
      for (const value of values)
        expect(refusal({ ...right, [`OIDC_ACME_${setting}`]: value }), value).to.equal(`OIDC_ACME_${setting}: ${says}`)
    })

  it('refuse a provider without an issuer or a client id, and settings that no provider has', () => {
    expect(refusal({ OIDC_ACME_CLIENT_ID: 'grove' })).to.equal(
      'OIDC_ACME_ISSUER: is required: the URL of the provider, as its discovery document has it',
    )
    expect(refusal({ OIDC_ACME_ISSUER: 'https://id.acme.example' })).to.equal(
      'OIDC_ACME_CLIENT_ID: is required: the id that the provider gave this service',
    )
    const unknown =
      'is not a setting of a provider; a name is OIDC_, an id of A-Z and 0-9, and one of _ISSUER, _CLIENT_ID, _CLIENT_SECRET, '
    for (const name of [
      'OIDC_ACME_ISUER',
      'OIDC_acme_ISSUER',
      'OIDC_ISSUER',
      'OIDC_A-B_ISSUER',
      `OIDC_${'A'.repeat(21)}_NAME`,
    ])
      expect(refusal({ ...right, [name]: 'x' }), name).to.contain(`${name}: ${unknown}`)
  })

  it('name every fault of every provider at once', () => {
    const said = refusal({ ...right, OIDC_ACME_LINK: 'on', OIDC_ACME_MAX_AGE: 'x', OIDC_BELL_CLIENT_ID: 'y' }) ?? ''
    const named = said.split('; ').map((one) => one.split(': ')[0])
    expect(named).to.have.members(['OIDC_ACME_LINK', 'OIDC_ACME_MAX_AGE', 'OIDC_BELL_ISSUER'])
  })

  it.deep('never fail in another way, whatever their values are', () => {
    const name = fc.constantFrom(
      ...['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET', 'NAME', 'SCOPES', 'SIGNUP', 'REQUIRE', 'VERIFIED', 'LINK', 'ORG'],
      ...['MAX_AGE', 'TOKENS_DAYS', 'OTHER', ''],
    )
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
      fc.constantFrom('on', 'off', 'openid', 'hd:x', '7', 'https://[', 'https://id.acme.example', `${id}:reader`),
    )
    const variable = fc.tuple(fc.constantFrom('ACME', 'B2', 'x', ''), name, text)
    fc.assert(
      fc.property(fc.array(variable, { maxLength: 8 }), (list) => {
        const given = Object.fromEntries(list.map(([by, setting, value]) => [`OIDC_${by}_${setting}`, value]))
        const said = refusal({ ...right, ...given })
        if (said === undefined) {
          for (const { issuer, clientId, scopes, maxAgeHours, org } of readConfig({ ...right, ...given }).oidc ?? []) {
            expect(new URL(issuer).protocol).to.match(/^https?:$/)
            expect(new URL(issuer).protocol === 'https:' || /127|localhost|::1/.test(issuer)).to.equal(true)
            expect(clientId).not.to.equal('')
            expect(scopes.split(' ')).to.include('openid')
            expect(maxAgeHours).to.be.within(0, 8_760)
            expect(org?.role).not.to.equal('owner')
          }
        } else expect(said).to.match(/^OIDC_/)
      }),
      { numRuns: 400 },
    )
  })

  it('keep a secret out of what is shown, also from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'grove-oidc-'))
    const file = join(folder, 'secret')
    await writeFile(file, 's3cret\n')
    for (const given of [{ OIDC_ACME_CLIENT_SECRET: 's3cret' }, { OIDC_ACME_CLIENT_SECRET_FILE: file }]) {
      expect(readConfig({ ...right, ...given }).oidc?.[0]?.clientSecret).to.equal('s3cret')
      const shown = effectiveVariables({ ...right, ...given }).filter(({ name }) => name.startsWith('OIDC_'))
      expect(shown).to.deep.include({ name: 'OIDC_ACME_CLIENT_SECRET', value: 'set', isDefault: false })
      expect(JSON.stringify(shown)).not.to.include('s3cret')
    }
    expect(refusal({ ...right, OIDC_ACME_CLIENT_SECRET: 'x', OIDC_ACME_CLIENT_SECRET_FILE: file })).to.equal(
      'OIDC_ACME_CLIENT_SECRET and OIDC_ACME_CLIENT_SECRET_FILE: only one of them may be set',
    )
    await rm(folder, { recursive: true })
  })

  it('are needed where passwords are off', () => {
    expect(refusal({ PASSWORD_LOGIN: 'off' })).to.equal(
      'PASSWORD_LOGIN: off needs a provider (OIDC_<ID>_ISSUER), or nobody can sign in',
    )
    expect(refusal({ ...right, PASSWORD_LOGIN: 'off' })).to.equal(undefined)
  })
})

describe('grove config check --online', () => {
  let folder: string
  let liar: Liar

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-oidc-'))
    liar = await startLiar()
  })
  after(async () => {
    await liar.close()
    await rm(folder, { recursive: true })
  })

  async function check(issuer: string, more: Readonly<Record<string, string>> = {}, words = ['--online']) {
    const environment = { DATA_DIR: folder, OIDC_ACME_ISSUER: issuer, OIDC_ACME_CLIENT_ID: 'grove', ...more }
    const { code, stdout } = await cliWith(environment, 'config', 'check', ...words)
    const [, found = ''] = stdout.split(/^.* found:\n/m)
    return { code, found: found.trim() }
  }

  it('finds nothing wrong with a provider that names itself, and asks it for no more than that and a code', async () => {
    expect(await check(liar.issuer, {}, [])).to.deep.equal({ code: 0, found: '' })
    expect(liar.asked, 'without --online').to.deep.equal([])
    expect(await check(liar.issuer)).to.deep.equal({ code: 0, found: '' })
    expect(liar.asked).to.deep.equal(['/.well-known/openid-configuration', '/token'])
  })

  it('names a provider that has another issuer, answers with an error, or does not listen', async () => {
    const begins = 'OIDC_ACME_ISSUER: the provider cannot be discovered: '
    liar.named = 'https://evil.example'
    const wrong = await check(liar.issuer)
    expect(wrong.code).to.equal(1)
    expect(wrong.found).to.equal(`${begins}discovered metadata issuer does not match the expected issuer`)
    liar.named = undefined
    liar.fault = 'down'
    expect(await check(liar.issuer)).to.deep.equal({ code: 1, found: `${begins}${liar.issuer} answered 503` })
    liar.fault = undefined
    const unheard = 'http://127.0.0.1:1025'
    const away = await check(unheard)
    expect(away.code).to.equal(1)
    expect(away.found).to.equal(`${begins}${unheard} did not answer: connect ECONNREFUSED 127.0.0.1:1025`)
  })

  it('warns, also without asking, of a public provider whose users all get accounts', async () => {
    const google = 'https://accounts.google.com'
    const says = `OIDC_ACME_REQUIRE is unset: everybody with an account at ${google} gets one here`
    expect(await check(google, {}, [])).to.deep.equal({ code: 1, found: says })
    for (const more of [{ OIDC_ACME_REQUIRE: 'hd:acme.com' }, { OIDC_ACME_SIGNUP: 'invite' }, { SIGNUP: 'closed' }])
      expect(await check(google, more, []), JSON.stringify(more)).to.deep.equal({ code: 0, found: '' })
  })
})

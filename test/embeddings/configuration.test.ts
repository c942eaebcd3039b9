/** The variables of models: `EMBEDDINGS…`, and what `grove config check` finds. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ConfigError, effectiveVariables, readConfig } from '../../server/base/config.ts'
import { cliWith } from '../operator/desk.ts'
import { runGroveCommand } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { sendJson, startEmbeddingsEndpoint } from '../support/embeddings-endpoint.ts'

const right = { EMBEDDINGS: 'endpoint', EMBEDDINGS_URL: 'https://api.example/v1', EMBEDDINGS_MODEL: 'letters' }
const org = '01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02'

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

describe('the configuration of embeddings', () => {
  it('is off by default, and if it is switched off', () => {
    for (const variables of [{}, { EMBEDDINGS: 'off' }, { ...right, EMBEDDINGS: 'off' }])
      expect(readConfig(variables).embeddings).to.equal(undefined)
  })

  it('has defaults, and is read as it is written', () => {
    const endpoint = { url: 'https://api.example/v1', model: 'letters', textPrefix: '', queryPrefix: '', rate: 300 }
    expect(readConfig({ ...right, EMBEDDINGS_URL: 'https://api.example/v1/' }).embeddings).to.deep.equal({
      endpoint: { ...endpoint, isHttpAllowed: false, allow: [] },
      orgs: 'asked',
      isPublic: false,
    })
    expect(
      readConfig({
        ...right,
        EMBEDDINGS_KEY: 'secret',
        EMBEDDINGS_DIMENSIONS: '512',
        EMBEDDINGS_TEXT_PREFIX: 'passage: ',
        EMBEDDINGS_QUERY_PREFIX: 'query: ',
        EMBEDDINGS_LANGUAGES: 'en, de',
        EMBEDDINGS_ORGS: org,
        EMBEDDINGS_RATE: '3',
        EMBEDDINGS_BUDGET: '1000000',
        EMBEDDINGS_HTTP: 'on',
        EMBEDDINGS_ALLOW: '10.0.0.0/8,gpu.internal',
        EMBEDDINGS_PUBLIC: 'on',
      }).embeddings,
    ).to.deep.equal({
      endpoint: {
        ...{ ...endpoint, key: 'secret', dimensions: 512, textPrefix: 'passage: ', queryPrefix: 'query: ', rate: 3 },
        ...{ languages: ['en', 'de'], budget: 1_000_000, isHttpAllowed: true, allow: ['10.0.0.0/8', 'gpu.internal'] },
      },
      orgs: [org],
      isPublic: true,
    })
    expect(readConfig({ EMBEDDINGS: 'local' }).embeddings).to.deep.equal({ orgs: 'all', isPublic: false })
    expect(readConfig({ EMBEDDINGS: 'local', EMBEDDINGS_ORGS: 'asked' }).embeddings?.orgs).to.equal('asked')
  })

  it('asks owners only if texts leave this machine, and opens an IP address in the URL', () => {
    const of = (url: string) => readConfig({ ...right, EMBEDDINGS_HTTP: 'on', EMBEDDINGS_URL: url }).embeddings
    const shown = (url: string) => [of(url)?.orgs, of(url)?.endpoint?.allow]
    expect(shown('http://localhost:11434/v1')).to.deep.equal(['all', []])
    expect(shown('http://127.0.0.1:11434/v1')).to.deep.equal(['all', ['127.0.0.1']])
    expect(shown('http://[::1]:11434/v1')).to.deep.equal(['all', ['::1']])
    expect(shown('http://10.0.0.1:11434/v1')).to.deep.equal(['asked', ['10.0.0.1']])
    expect(shown('https://gpu.internal/v1')).to.deep.equal(['asked', []])
  })

  const wrong: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [{ EMBEDDINGS: 'on' }, /^EMBEDDINGS: must be one of off, local, endpoint, not "on"$/],
    [{ EMBEDDINGS: 'endpoint' }, /^EMBEDDINGS: endpoint needs EMBEDDINGS_URL/],
    [{ EMBEDDINGS: 'endpoint', EMBEDDINGS_URL: 'https://a.example' }, /^EMBEDDINGS: endpoint needs EMBEDDINGS_MODEL/],
    ...[
      'api.example',
      'ftp://a.example',
      'https://me:pw@a.example',
      'https://a.example/?a',
      'https://a.example/#a',
    ].map((url) => [{ ...right, EMBEDDINGS_URL: url }, /^EMBEDDINGS_URL: must be the URL of an API without/] as const),
    [
      { ...right, EMBEDDINGS_URL: 'https://a.example/v1/embeddings' },
      /^EMBEDDINGS_URL: must be .* without \/embeddings/,
    ],
    [{ ...right, EMBEDDINGS_URL: 'http://a.example/v1' }, /^EMBEDDINGS_URL: must be https/],
    [{ ...right, EMBEDDINGS_URL: 'http://10.0.0.1/v1' }, /^EMBEDDINGS_URL: must be https/],
    [{ ...right, EMBEDDINGS_MODEL: 'a\nb' }, /^EMBEDDINGS_MODEL: must have 1 to 200 characters/],
    [{ ...right, EMBEDDINGS_KEY: 'se cret' }, /^EMBEDDINGS_KEY: must have at most 4,096 ASCII characters/],
    [{ ...right, EMBEDDINGS_DIMENSIONS: '0' }, /^EMBEDDINGS_DIMENSIONS: must be a whole number from 1 to 4096/],
    [{ ...right, EMBEDDINGS_DIMENSIONS: '4097' }, /^EMBEDDINGS_DIMENSIONS: must be a whole number from 1 to 4096/],
    [{ ...right, EMBEDDINGS_TEXT_PREFIX: 'x'.repeat(501) }, /^EMBEDDINGS_TEXT_PREFIX: must have at most 500/],
    [{ ...right, EMBEDDINGS_LANGUAGES: 'english' }, /^EMBEDDINGS_LANGUAGES: must be a list of codes/],
    [{ ...right, EMBEDDINGS_ORGS: 'none' }, /^EMBEDDINGS_ORGS: must be asked, all, or a list of ids/],
    [{ ...right, EMBEDDINGS_ORGS: `all,${org}` }, /^EMBEDDINGS_ORGS: must be asked, all, or a list of ids/],
    [{ ...right, EMBEDDINGS_RATE: '0' }, /^EMBEDDINGS_RATE: must be a whole number from 1 to 100000/],
    [{ ...right, EMBEDDINGS_BUDGET: '9999' }, /^EMBEDDINGS_BUDGET: must be a whole number from 10000/],
    [{ ...right, EMBEDDINGS_ALLOW: '0.0.0.0/0' }, /^EMBEDDINGS_ALLOW: must be a list of IP addresses/],
    [{ ...right, EMBEDDINGS_PUBLIC: 'yes' }, /^EMBEDDINGS_PUBLIC: must be one of on, off/],
    [{ EMBEDDINGS_URL: 'https://a.example' }, /^EMBEDDINGS_URL: needs EMBEDDINGS, which is local or endpoint/],
    [{ EMBEDDINGS_ORGS: 'all' }, /^EMBEDDINGS_ORGS: needs EMBEDDINGS/],
    [{ EMBEDDINGS: 'local', EMBEDDINGS_MODEL: 'a' }, /^EMBEDDINGS_MODEL: is only for EMBEDDINGS=endpoint/],
  ]
  it('names each wrong value in one line', () => {
    for (const [variables, message] of wrong) {
      const said = refusal(variables)
      expect(said, JSON.stringify(variables))
        .to.match(message)
        .and.not.match(/\n|se cret|me:pw/)
    }
  })

  it('shows that the key is set, which a file may hold', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'grove-key-'))
    try {
      await writeFile(join(folder, 'key'), 'sk-secret\n')
      for (const given of [{ EMBEDDINGS_KEY: 'sk-secret' }, { EMBEDDINGS_KEY_FILE: join(folder, 'key') }]) {
        expect(readConfig({ ...right, ...given }).embeddings?.endpoint?.key).to.equal('sk-secret')
        const shown = effectiveVariables({ ...right, ...given })
        expect(shown.find(({ name }) => name === 'EMBEDDINGS_KEY')?.value).to.equal('set')
      }
      expect(refusal({ ...right, EMBEDDINGS_KEY: 'a', EMBEDDINGS_KEY_FILE: 'b' })).to.match(/^EMBEDDINGS_KEY and EMB/)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

describe('grove config check with the local model', () => {
  it.deep('names missing packages with the sentence of a start', async () => {
    const dataDir = await newDataDir()
    try {
      const variables = { EMBEDDINGS: 'local', DATA_DIR: dataDir, PORT: '0' }
      const sentence = /EMBEDDINGS=local needs packages that Grove does not install: .* or set EMBEDDINGS=off\n/
      const start = await runGroveCommand(dataDir, ['serve'], variables)
      const [said = 'nothing'] = sentence.exec(start.stderr) ?? []
      expect(start.code, start.stderr).to.equal(1)
      for (const words of [['check'], ['check', '--online']]) {
        const { code, stdout } = await cliWith(variables, 'config', ...words)
        expect([code, stdout.split(said).length]).to.deep.equal([1, 2])
      }
    } finally {
      await rm(dataDir, { recursive: true, force: true })
    }
  })
})

describe('grove config check --online with embeddings', () => {
  let dataDir: string
  before(async () => {
    dataDir = await newDataDir()
  })
  after(() => rm(dataDir, { recursive: true, force: true }))

  const check = (url: string) => {
    const variables = { ...right, EMBEDDINGS_URL: url, EMBEDDINGS_KEY: 'sk-secret', DATA_DIR: dataDir }
    return cliWith(variables, 'config', 'check', '--online')
  }

  it('embeds one short text, and prints the model and its dimensions', async () => {
    const endpoint = await startEmbeddingsEndpoint()
    const { stdout } = await check(endpoint.url)
    expect(stdout).to.match(/^The embeddings endpoint works: letters, 64 dimensions$/m)
    expect(stdout).to.include('EMBEDDINGS_KEY=set').and.not.include('EMBEDDINGS_URL:')
    expect(endpoint.texts()).to.deep.equal(['Grove'])
  })

  it('says why the endpoint cannot be used, without the key', async () => {
    const endpoint = await startEmbeddingsEndpoint()
    endpoint.behaviour = (_request, res) => sendJson(res, 401, { error: { message: 'Wrong key sk-secret' } })
    for (const [url, problem] of [
      [
        endpoint.url,
        'EMBEDDINGS_URL: The embeddings endpoint answered 401, so it refuses the key. Check EMBEDDINGS_KEY.',
      ],
      ['http://127.0.0.1:1024/v1', 'EMBEDDINGS_URL: 127.0.0.1 refused the connection.'],
    ] as const) {
      const { code, stdout } = await check(url)
      expect(code).to.equal(1)
      expect(stdout).to.include(problem).and.not.include('sk-secret')
    }
  })
})

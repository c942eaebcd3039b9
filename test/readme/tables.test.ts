/** The tables of the documents say what the service does. */

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { effectiveVariables, readConfig } from '../../server/base/config.ts'
import { runCommand } from '../support/command.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { client } from '../support/people.ts'

describe('the documents', () => {
  let configuration: string
  let commandsPage: string
  let architecture: string
  let limits: string
  let grove: Grove

  before(async () => {
    configuration = await readFile('server/deploy/configuration.md', 'utf8')
    commandsPage = await readFile('server/cli/commands/README.md', 'utf8')
    architecture = await readFile('server/README.md', 'utf8')
    limits = await readFile('spec/limits.md', 'utf8')
    grove = await startGrove({ rateLimit: true })
  })
  after(() => grove.close())

  describe('the tables', () => {
    it('name each variable of the environment, with its default', async () => {
      const variables = effectiveVariables({}).map(({ name }) => name)
      const {
        port,
        host,
        dataDir,
        logLevel,
        logRequests,
        rateLimit,
        hideEmail,
        workers,
        signup,
        searchMemory,
        pushCpuSeconds,
        databasePool,
        ...rest
      } = readConfig({})
      expect([dataDir, rest]).to.deep.equal([resolve('./repos'), {}])
      const defaults = [
        String(port),
        host,
        './repos',
        '',
        '',
        logLevel,
        logRequests,
        rateLimit ? 'on' : 'off',
        '',
        hideEmail ? 'default' : 'off',
        String(workers),
        signup,
        String(searchMemory / 1_048_576),
        String(pushCpuSeconds),
        '',
        String(databasePool),
        '',
        '',
      ]
      expect(rows(configuration, 'Configuration').map(([name, value]) => [name, value])).to.deep.equal(
        variables.map((name, at) => [`\`${name}\``, defaults[at]]),
      )
    })

    it('name each command once, with its arguments and options', async () => {
      const { stdout } = await runCommand(['--help'], process.env)
      const commands = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([\w-]+)/gm)].map(
        (match) => match[1],
      )
      const usages = ['Run', 'Content', 'People', 'Backup and restore', 'Several machines']
        .flatMap((title) =>
          rows(commandsPage, title)
            .map(([usage = '']) => usage)
            .filter((usage) => usage.startsWith('`')),
        )
        .map((usage) => usage.replaceAll('`', ''))
      const named = new Set(usages.map((usage) => usage.split(' ')[0]))
      expect([...named].sort()).to.deep.equal(commands.filter((name) => name !== 'help').sort())
      expect(usages.length).to.equal(new Set(usages).size)
      for (const usage of usages) {
        const names = /^[a-z-]+( [a-z-]+)*/.exec(usage)?.[0].split(' ') ?? []
        const help = await runCommand([...names, '--help'], process.env)
        const words = (text: string, pattern: RegExp) => [...new Set(text.match(pattern) ?? [])].sort()
        expect(words(usage, /--\w+/g)).to.deep.equal(words(help.stdout, /--(?!help)\w+/g))
        const taken = /^Usage: grove (?:[\w-]+ )+(.*)$/m.exec(help.stdout)?.[1]?.match(/(?<=<)\w+(?=>)/g) ?? []
        expect(words(usage.replace(/\[.*\]|--\w+ \w+/g, ''), /\b[A-Z]+\b/g)).to.deep.equal(
          taken.map((name) => name.toUpperCase()).sort(),
        )
      }
    })

    it('state the limits that the spec sets', async () => {
      const { info, components } = JSON.parse(await readFile('spec/openapi.json', 'utf8'))
      const {
        Title,
        EdgeLabel,
        NodeTags,
        CommitMessage,
        DisplayName,
        Password,
        Email,
        BranchName,
        FileChange,
        ...schemas
      } = components.schemas
      const { query, top_k: topK } = schemas.SearchRequest.properties
      const { changes } = schemas.NewCommit.properties
      const page = components.parameters.limit.schema
      const titles = components.parameters.suggest_limit.schema
      expect(CommitMessage.maxLength).to.equal(schemas.PullDescription.maxLength)
      expect(rows(limits, 'Limits of a request').slice(0, 18)).to.deep.equal([
        [
          'title; label; tag',
          `${Title.maxLength}; ${EdgeLabel.maxLength}; ${NodeTags.items.maxLength} characters`,
          '422',
        ],
        ['tags of a node', `${NodeTags.maxItems}`, '422'],
        ['description, message', `${size(CommitMessage.maxLength)}, a message not blank`, '422'],
        ['description of an organisation', `${grouped(schemas.OrgDescription.maxLength)} characters`, '422'],
        ['query', `${size(query.maxLength)}, not blank`, '422'],
        [
          '`q` of suggestions; `limit` of suggestions',
          `${components.parameters.suggest_q.schema.maxLength} characters; ${titles.minimum}–${titles.maximum}, ${titles.default} unless asked`,
          '422',
        ],
        ['`top_k`', `${topK.minimum}–${topK.maximum}`, '422'],
        ['e-mail address', `${Email.maxLength} characters`, '422'],
        [
          'name of a person or an organisation; password',
          `${DisplayName.minLength}–${DisplayName.maxLength}; ${Password.minLength}–${Password.maxLength} characters`,
          '422',
        ],
        [
          'personal access tokens',
          told(info.description, 'personal access tokens', /\d+ of a person/),
          told(info.description, 'personal access tokens', /409/),
        ],
        [
          'branch; path of a file',
          `${BranchName.maxLength}; ${grouped(FileChange.properties.path.maxLength)} bytes`,
          '422',
        ],
        [
          'changes of one commit; one file over REST',
          `${grouped(changes.maxItems)}; ${size(schemas.NodeText?.maxLength ?? 0)}`,
          '422',
        ],
        [
          'nodes of one batch; parents, connections and files of each',
          `${grouped(schemas.NewNodes.properties.nodes.maxItems)}; ${grouped(schemas.NewBatchNode.properties.files.maxItems)} each`,
          '422',
        ],
        [
          'parents, connections and files of all nodes of one batch',
          told(info.description, 'nodes of one batch; parents, connections and files of all of them', /[\d,]+$/),
          '422 `too_long`',
        ],
        ['a body', told(info.description, 'request body', /\d+ MiB/), told(info.description, 'request body', /413/)],
        [
          'objects and arrays in a body; levels of them',
          `${told(info.description, 'request body', /[\d,]+(?= objects)/)}; ${told(info.description, 'request body', /\d+(?= levels)/)}`,
          '422',
        ],
        ['a page', `${page.minimum}–${page.maximum}, ${page.default} unless asked`, '422'],
        [
          'an expanded search',
          `${told(info.description, 'search', /\d+ nodes/)}, ${told(info.description, 'search', /\d+ MiB/)} of text`,
          '`truncated: true`',
        ],
      ])
    })

    it('state the rate limits that the spec describes and the service announces', async () => {
      const { info } = JSON.parse(await readFile('spec/openapi.json', 'utf8'))
      const stated = rows(limits, 'Limits of a request').slice(18)
      expect(stated.map(([what, limit]) => [what, numbers(limit)])).to.deep.equal(
        rows(info.description, 'Rate limits').map(([what, limit]) => [what, numbers(limit)]),
      )
      const announced = async (path: string, body?: object) => {
        const { headers } = await (body ? client(grove).post(path, body) : client(grove).get(path))
        return headers['ratelimit-policy']
      }
      const nobody = { email: 'nobody@example.org', password: 'not a password' }
      expect([
        await announced('/auth/signup', { ...nobody, email: 'somebody@example.org' }),
        await announced('/auth/login', nobody),
        await announced('/public/orgs/nobody/graph'),
      ]).to.deep.equal([
        `"signup";q=${numbers(stated[0]?.[1])[0]};w=3600`,
        `"default";q=${numbers(stated[3]?.[1])[0]};w=60`,
        `"default";q=${numbers(stated[3]?.[1])[0]};w=60`,
      ])
    })

    it('name folders that are there', () => {
      const folders = rows(architecture, 'Folders').map(([name = '']) => `server/${name.replaceAll('`', '')}`)
      expect(folders).to.not.be.empty
      for (const path of folders) expect(existsSync(path), path).to.equal(true)
    })
  })
})

/** The cells of the table below a heading, without its head. */
function rows(markdown: string, heading: string): string[][] {
  const [, section = ''] = markdown.split(new RegExp(`^##+ ${heading}$`, 'm'))
  const lines = section.slice(0, section.search(/^##/m)).match(/^\|.*\|$/gm) ?? []
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

/** What the spec's own table of limits says of something. */
function told(description: string, what: string, pattern: RegExp): string {
  const row = rows(description, 'Limits').find(([name]) => name === what)
  return pattern.exec(row?.[1] ?? '')?.[0] ?? `${what} is not in the spec`
}

function numbers(text = ''): number[] {
  return (text.replaceAll(',', '').match(/\d+/g) ?? []).map(Number)
}

function size(bytes: number): string {
  return bytes >= 1_048_576 ? `${bytes / 1_048_576} MiB` : `${bytes / 1024} KiB`
}

function grouped(number: number): string {
  return number.toLocaleString('en')
}

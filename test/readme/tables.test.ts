/** The tables of the documents say what the service does. */

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { effectiveVariables, readConfig } from '../../server/base/config.ts'
import document from '../../spec/openapi.json' with { type: 'json' }
import { runCommand } from '../support/command.ts'

describe('the documents', () => {
  let configuration: string
  let commandsPage: string
  let architecture: string

  before(async () => {
    configuration = await readFile('server/deploy/configuration.md', 'utf8')
    commandsPage = await readFile('server/cli/commands/README.md', 'utf8')
    architecture = await readFile('server/README.md', 'utf8')
  })

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
        auditRetentionDays,
        auditFetches,
        trashDays,
        proposalDays,
        diskReserve = 0,
        quotaNodes,
        quotaBytes,
        quotaOrgs,
        eventRetentionDays,
        databasePool,
        webhookHttp,
        oauth,
        oauthRedirects,
        emailVerification,
        passwordLogin,
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
        '',
        String(trashDays),
        String(proposalDays),
        String(diskReserve / 1_048_576),
        String(quotaNodes),
        String(quotaBytes),
        String(quotaOrgs),
        String(eventRetentionDays),
        String(auditRetentionDays),
        auditFetches ? 'on' : 'off',
        '',
        String(databasePool),
        '',
        webhookHttp ? 'on' : 'off',
        oauth ? 'on' : 'off',
        oauthRedirects?.join(','),
        '',
        '',
        '',
        emailVerification,
        passwordLogin ? 'on' : 'off',
        'off',
        ...new Array(8).fill(''),
        '300',
        '',
        'off',
        '',
        'off',
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

    it('say of each role, access and field of a rule who may propose and who must agree', async () => {
      const page = await readFile('spec/permissions.md', 'utf8')
      const { Role, TokenAccess, Rule } = document.components.schemas
      for (const role of Role.enum) expect(page, role).to.match(new RegExp(`^\\| ${role} \\|`, 'm'))
      for (const access of TokenAccess.enum) expect(page).to.include(`token or connection with \`${access}\``)
      for (const field of Object.keys(Rule.properties)) {
        if (field !== 'branches' && field !== 'under') expect(page, field).to.include(`\`${field}\``)
      }
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
  const [, section = ''] = markdown.split(new RegExp(`^#+ ${heading}$`, 'm'))
  const lines = section.slice(0, section.search(/^##/m)).match(/^\|.*\|$/gm) ?? []
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

/** The commands of all pages: `grove` has them with their options, the variables exist, and the shell can parse them. */

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Command } from 'commander'
import { variableNames } from '../../server/base/config.ts'
import { programOf } from '../../server/cli/program.ts'

interface Code {
  readonly page: string
  readonly text: string
  /** The language of a block. Undefined: it stands in a line. */
  readonly language?: string | undefined
}

/** What precedes `grove` in a command: variables, and a program that starts it. */
const prefix =
  /^(?:[A-Z_]+=(?:"[^"]*"|\S+) +)*(?:(?:sudo|docker|exec|npm run|npx|systemd-run)\b.* )?grove +(?:-- +)?(.+)$/
/** Variables of other programs, and names that a reader replaces. */
const others = [
  'ON_ERROR_STOP',
  'HTTPS_PROXY',
  'NODE_EXTRA_CA_CERTS',
  'UV_USE_IO_URING',
  'NAME',
  'ORG_ID',
  'NODE_ID',
  'COMMIT_ID',
]
/** Pages for those who run Grove, or use its programs. */
const isForUsers = (page: string) =>
  /^(?:README|SECURITY|server\/(?:deploy|cli|mcp|features\/vault)\/.*|repos\/.*)\.md$/.test(page)

/** The blocks of shell of each page. A test runs each of them; a new one needs such a test. */
const run = {
  'README.md': 1, // quick-start.deep.ts
  'server/cli/commands/README.md': 2, // test/operator/mirrors.load.ts
  'server/deploy/README.md': 8, // test/deploy/operators.deploy.ts
  'server/mcp/README.md': 1, // blocks.deep.ts
  'server/features/vault/README.md': 1, // tour.deep.ts
  'spec/README.md': 10, // tour.deep.ts
  'spec/events.md': 1, // test/webhooks/readme.test.ts
  'spec/git.md': 1, // test/git/mirror.deep.ts
  'spec/types.md': 1, // blocks.deep.ts
  'test/README.md': 1, // None: it measures a file that the reader names.
}

describe('the commands in the pages of this repository', () => {
  let code: readonly Code[]
  const program = programOf({ call: unused, signal: unused, ends: unused })

  before(() => {
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md'])
    // They say what earlier versions had.
    const pages = `${listed}`.split('\0').filter((page) => page !== '' && !/^CHANGELOG|^test\/upgrade/.test(page))
    code = pages.flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$|`([^`\n]+)`/gm)].map(
        ([, , language, block, inline]) => ({ page, language, text: block ?? inline ?? '' }),
      ),
    )
  })

  it('are commands of grove, with options and as many arguments as it takes', () => {
    const found = code.flatMap(({ page, text }) => commandsIn(text).map((command) => ({ page, command })))
    expect(found).to.have.length.above(150)
    const wrong = found.flatMap(({ page, command }) => {
      const reason = faultOf(program, command)
      return reason === undefined ? [] : [`${page}: grove ${command}: ${reason}`]
    })
    expect(wrong).to.deep.equal([])
    for (const unknown of ['bakup DIR', 'backup DIR --all', 'account rest EMAIL', 'doctor DIR', 'backup DIR DIR'])
      expect(faultOf(program, unknown), unknown).to.be.a('string')
  })

  it('set only variables that are there', () => {
    const read = [...scripts('server/deploy'), ...scripts('server/cli/commands')].join('\n')
    const unknown = code
      .filter(({ page }) => isForUsers(page))
      .flatMap(({ page, text }) => {
        const own = code.filter((one) => one.page === page)
        return [...text.matchAll(/(?<![\w$"/{.-])(?:[A-Z][A-Z\d]*(?:_[A-Z\d]+)+|[A-Z][A-Z\d]+(?==))/g)].flatMap(
          ([name]) => {
            const isKnown = variableNames.includes(name) || /^OIDC_[A-Z]+_/.test(name) || others.includes(name)
            const isUsed = own.some((one) => one.text.includes(`$${name}`))
            return isKnown || isUsed || new RegExp(`\\b${name}\\b`).test(read) ? [] : [`${page}: ${name}`]
          },
        )
      })
    expect(unknown).to.deep.equal([])
  })

  it('can be parsed by a shell', () => {
    const blocks = code.filter(({ language }) => language === 'sh')
    expect(blocks).to.have.length.above(20)
    for (const { page, text } of blocks)
      expect(() => execFileSync('bash', ['-n'], { input: text, stdio: 'pipe' }), `${page}: ${text}`).to.not.throw()
  })

  it('stand in blocks that a test runs', () => {
    const counts: Record<string, number> = {}
    for (const { page } of code.filter(({ language }) => language === 'sh')) counts[page] = (counts[page] ?? 0) + 1
    expect(counts).to.deep.equal(run)
  })
})

/** What follows `grove` in each command of the text. */
function commandsIn(text: string): string[] {
  return text
    .split(/\n|&&|\|\|?|;|\$\(/)
    .flatMap((line) => prefix.exec(line.trim())?.[1] ?? [])
    .map((command) => command.replace(/ [<>#].*/, '').replace(/[')]+$/, ''))
    .filter((command) => !/^(?:COMMAND\b|"\$@")/.test(command))
}

/** Undefined: the program takes it. Values of options and arguments are not judged. */
function faultOf(program: Command, command: string): string | undefined {
  const words = command.match(/"[^"]*"|\S+/g) ?? []
  let at = program
  let operands = 0
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? ''
    const below = at.commands.find((one) => one.name() === word)
    if (below) at = below
    else if (word.startsWith('-')) {
      const option = [...at.options, ...program.options].find(({ long, short }) => long === word || short === word)
      if (!option && word !== '--help') return `there is no ${word}`
      if (option?.required) index++
    } else if (at.commands.length > 0) return `there is no ${word}`
    else operands++
  }
  const { registeredArguments: taken } = at
  return operands > taken.length && taken.at(-1)?.variadic !== true ? 'it takes fewer arguments' : undefined
}

function scripts(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.md'))
    .map(({ name }) => readFileSync(join(folder, name), 'utf8'))
}

function unused(): never {
  throw new Error('No command runs')
}

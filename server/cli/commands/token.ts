/** `grove token`: whose a leaked token is, and its end. */
import type { Command } from 'commander'
import { endLeak, findLeaksBy, findLeaksIn, type Leak } from '../../domain/operator/leaked-tokens.ts'
import type { Services } from '../../domain/services.ts'
import { type Call, examples, printLine, type Run, requireFolder, UsageError, withDeps } from './command.ts'

/** The most characters that are read from standard input. */
const mostInput = 16 * 1024 * 1024

const kinds: Readonly<Record<Leak['kind'], string>> = {
  token: 'personal access token',
  session: 'session',
  connection: 'connection of a program',
  feed: 'token of an inbox feed',
  reset: 'token to set a password',
  mail: 'token of a mail',
  invitation: 'invitation',
}

export function addTokenCommands(program: Command, run: Run): void {
  const token = program
    .command('token')
    .description('Find whose a leaked token is, or end it, also while the service runs')
    .addHelpText(
      'after',
      examples('grove token find < leaked.log', 'grove token find x7Qa', 'grove token end < token.txt'),
    )

  token
    .command('find')
    .description('Print kind, owner and last use of the tokens in a text on standard input, of any kind')
    .argument('[letters]', 'Last four characters of a personal access token, instead of a text')
    .action(async (letters?: string) => {
      run.ends(await forLeaks(run.call(), letters === undefined ? undefined : ['hint', letters]))
    })

  token
    .command('end')
    .description('End the tokens in a text on standard input, of any kind, with their session or connection')
    .argument('[id]', 'Id of a personal access token, instead of a text')
    .action(async (id?: string) => {
      run.ends(await forLeaks(run.call(), id === undefined ? undefined : ['id', id], endLeak))
    })
}

/** Prints the tokens, and may end each. Returns the exit code: 1 if there is none. Without `by`, reads standard input. */
async function forLeaks(
  call: Call,
  by: readonly ['id' | 'hint', string] | undefined,
  end?: (deps: Services, leak: Leak) => Promise<void>,
): Promise<number> {
  await requireFolder(call.config.dataDir)
  const text = by === undefined ? await readInput() : ''
  return withDeps(call, async (deps) => {
    const leaks = await (by === undefined ? findLeaksIn(deps, text) : findLeaksBy(deps, ...by))
    for (const leak of leaks) {
      await end?.(deps, leak)
      printLine(end === undefined ? lineOf(leak) : `ended: ${lineOf(leak)}`)
    }
    if (leaks.length === 0) printLine('No valid token of this service was found')
    return leaks.length === 0 ? 1 : 0
  })
}

/** @throws UsageError it is too long */
async function readInput(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.length > mostInput) throw new UsageError('Standard input is over 16 MiB; send only the lines with tokens')
  }
  return text
}

function lineOf({ kind, id, hint, email, account_id, label, access, last_used_at }: Leak): string {
  const owner = account_id === null ? '' : ` of ${email} (${account_id})`
  const facts = [
    ...(label === null ? [] : [JSON.stringify(label)]),
    ...(access === null ? [] : [`access ${access}`]),
    ...(kind === 'token' || kind === 'session' || kind === 'connection'
      ? [`id ${id}`, last_used_at === null ? 'never used' : `last used ${last_used_at}`]
      : []),
  ]
  return `${hint === undefined ? '' : `…${hint}: `}${kinds[kind]}${owner}${facts.length > 0 ? `: ${facts.join(', ')}` : ''}`
}

/** The users of the demo and what it prints about them. The passwords are fixed, because only this machine is served. */

export const people = {
  ann: { name: 'Ann Marlow', email: 'ann@selkie.example', password: 'ann-likes-limpets', role: 'owner' },
  ben: { name: 'Ben Okafor', email: 'ben@selkie.example', password: 'ben-likes-barnacles', role: 'editor' },
  cleo: { name: 'Cleo Sand', email: 'cleo@selkie.example', password: 'cleo-likes-crabs', role: 'contributor' },
} as const

export const organisation = {
  name: 'Selkie Point',
  description:
    'The handbook and field guide of a small marine station. It is a demo: people, places and figures are invented.',
  published: true,
}

/** Returns what `grove demo` prints. The address is last. */
export function greeting(url: string, org: string): string {
  const rows = Object.values(people).map(
    ({ name, role, email, password }) => `  ${name.padEnd(11)} ${role.padEnd(12)} ${email.padEnd(20)} ${password}\n`,
  )
  return `This is a demo: people, places and figures are invented. Only this machine can reach it.
Read without an account, or sign in with an e-mail address and a password:

${rows.join('')}
\`grove demo --reset\` begins again. In a clone: \`npm run demo -- --reset\`.
Open ${url}/o/${org}
`
}

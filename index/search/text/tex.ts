/** Marks the syntax of formulas, so that their words and symbols stay searchable. */
import { FATE, type Marked } from './fates.ts'

/** Commands that readers see as words or letters. All others are dropped. */
const SHOWN = new Set([
  ...['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'varepsilon', 'zeta', 'eta', 'theta', 'vartheta', 'iota'],
  ...['kappa', 'lambda', 'mu', 'nu', 'xi', 'pi', 'rho', 'sigma', 'tau', 'upsilon', 'phi', 'varphi', 'chi', 'psi'],
  ...['omega', 'Gamma', 'Delta', 'Theta', 'Lambda', 'Xi', 'Pi', 'Sigma', 'Upsilon', 'Phi', 'Psi', 'Omega', 'nabla'],
  ...['sin', 'cos', 'tan', 'cot', 'sec', 'csc', 'arcsin', 'arccos', 'arctan', 'sinh', 'cosh', 'tanh', 'log', 'ln'],
  ...['exp', 'lim', 'max', 'min', 'sup', 'inf', 'det', 'dim', 'ker', 'gcd', 'arg', 'deg', 'infty'],
])

const SYNTAX = /\\(?:begin|end)\s*\{[A-Za-z*]{0,30}\}|\\([A-Za-z]+)|\\[\s\S]|[{}_^]|[&~]/g

/** Marks the TeX between two offsets. Commands become spaces. */
export function markTex({ source, fates }: Marked, from: number, to: number): void {
  for (const { 0: found, 1: command, index } of source.slice(from, to).matchAll(SYNTAX)) {
    const at = from + index
    if (command !== undefined && SHOWN.has(command)) fates.fill(FATE.space, at, at + 1)
    else fates.fill(/^[{}_^]$/.test(found) ? FATE.dropped : FATE.space, at, at + found.length)
  }
}

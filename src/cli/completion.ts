/**
 * Completion for bash, zsh and fish, generated from the program's own definition of verbs and flags: whatever is added there is completed. A flag with choices
 * completes them; `<file>` and `<dir>` complete paths; other values are left to the user. The scripts call nothing: completing costs no start of Node.
 */
import type { Command, Option } from 'commander';
import { nearest } from '../config/suggest.ts';
import { PortolanError } from '../core/errors.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

type ValueKind = 'none' | 'words' | 'file' | 'directory' | 'other';

interface FlagSpec {
  readonly flag: string;
  readonly help: string;
  readonly kind: ValueKind;
  readonly words: readonly string[];
}

interface VerbSpec {
  readonly verb: string;
  readonly help: string;
  readonly flags: readonly FlagSpec[];
  /** What the arguments are. */
  readonly argument: ValueKind;
  readonly words: readonly string[];
}

/** Throws PORTOLAN_USAGE_INVALID for another shell. */
export function completion(shell: string, program: Command): string {
  const verbs = program.commands.map(verbSpec);
  const top = program.options.map(flagSpec);
  if (shell === 'bash') return bash(verbs, top);
  if (shell === 'zsh') return zsh(verbs, top);
  if (shell === 'fish') return fish(verbs, top);
  const near = nearest(shell, SHELLS);
  throw new PortolanError(
    'PORTOLAN_USAGE_INVALID',
    `there is no completion for "${shell}"${near === undefined ? '' : ` (did you mean ${near}?)`}`,
    {
      remedy: `name one of ${SHELLS.join(', ')}`,
    },
  );
}

function verbSpec(command: Command): VerbSpec {
  const [argument] = command.registeredArguments;
  const name = argument?.name() ?? '';
  const words = command.name() === 'completion' ? SHELLS : (argument?.argChoices ?? []);
  const kind =
    words.length > 0
      ? 'words'
      : /\b(?:dir)\b/.test(name)
        ? 'directory'
        : /file/.test(name)
          ? 'file'
          : argument === undefined
            ? 'none'
            : 'other';
  const help: FlagSpec = { flag: '--help', help: 'show this help', kind: 'none', words: [] };
  const flags = command.options.filter(({ hidden }) => !hidden).map(flagSpec);
  return { verb: command.name(), help: command.description(), flags: [...flags, help], argument: kind, words };
}

function flagSpec(option: Option): FlagSpec {
  const flag = option.long ?? option.flags.split(' ')[0]!;
  const value = /[<[]([^>\]]+)[>\]]/.exec(option.flags)?.[1];
  const words =
    option.argChoices ?? (value !== undefined && /^[a-z]+(?:\|[a-z]+)+$/.test(value) && value === 'on|off' ? value.split('|') : []);
  const kind =
    value === undefined ? 'none' : words.length > 0 ? 'words' : value === 'dir' ? 'directory' : value === 'file' ? 'file' : 'other';
  return { flag, help: option.description, kind, words };
}

function bash(verbs: readonly VerbSpec[], top: readonly FlagSpec[]): string {
  const valueCases = uniqueFlags(verbs).filter(({ kind }) => kind !== 'none');
  // Bash 3.2, which macOS has, knows neither mapfile nor compopt.
  const paths = (of: string): string => `compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen ${of} -- "$current"))`;
  const reply = (kind: ValueKind, words: readonly string[]): string => {
    if (kind === 'words') return `COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$current"))`;
    if (kind === 'directory') return paths('-d');
    return kind === 'file' ? paths('-f') : 'COMPREPLY=()';
  };
  return `# Completion of portolan for bash. Put it to use with: source <(portolan completion bash)
_portolan() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" verb="" at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in
      -*) ;;
      *) verb="\${COMP_WORDS[at]}"; break ;;
    esac
  done
  COMPREPLY=()
  case "$verb $previous" in
${valueCases.map(({ flag, kind, words, verbs: of }) => `    ${of.map((verb) => `'${verb} ${flag}'`).join('|')}) ${reply(kind, words)}; return ;;`).join('\n')}
  esac
  case "$verb" in
    '') COMPREPLY=($(compgen -W '${[...verbs.map(({ verb }) => verb), 'help', ...top.map(({ flag }) => flag), '--help'].join(' ')}' -- "$current")) ;;
    help) COMPREPLY=($(compgen -W '${verbs.map(({ verb }) => verb).join(' ')}' -- "$current")) ;;
${verbs
  .map(
    ({ verb, flags, argument, words }) => `    ${verb})
      if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W '${flags.map(({ flag }) => flag).join(' ')}' -- "$current"))
      else ${reply(argument, words)}; fi ;;`,
  )
  .join('\n')}
  esac
}
complete -F _portolan portolan
`;
}

/** Flags of the same name and meaning of several verbs as one. */
function uniqueFlags(verbs: readonly VerbSpec[]): (FlagSpec & { readonly verbs: readonly string[] })[] {
  const found = new Map<string, FlagSpec & { readonly verbs: string[] }>();
  for (const { verb, flags } of verbs) {
    for (const flag of flags) {
      const name = `${flag.flag} ${flag.kind} ${flag.words.join(' ')}`;
      const known = found.get(name);
      if (known === undefined) found.set(name, { ...flag, verbs: [verb] });
      else known.verbs.push(verb);
    }
  }
  return [...found.values()];
}

function zsh(verbs: readonly VerbSpec[], top: readonly FlagSpec[]): string {
  const spec = ({ flag, help, kind, words }: FlagSpec): string =>
    `'*${flag}[${zshText(help)}]${kind === 'none' ? '' : `:value:${zshAction(kind, words)}`}'`;
  const argument = ({ argument, words }: VerbSpec): string => (argument === 'none' ? '' : ` '*:argument:${zshAction(argument, words)}'`);
  return `#compdef portolan
# Completion of portolan for zsh. Put it to use with: source <(portolan completion zsh)
_portolan() {
  local -a verbs
  local line state
  verbs=(
${verbs.map(({ verb, help }) => `    '${verb}:${zshText(help).replaceAll(':', '\\:')}'`).join('\n')}
  )
  _arguments -C ${top.map(spec).join(' ')} '--help[show this help]' '1:verb:->verb' '*::argument:->rest'
  case "$state" in
    verb) _describe verb verbs ;;
    rest)
      case "\${line[1]}" in
        help) _describe verb verbs ;;
${verbs.map((verb) => `        ${verb.verb}) _arguments ${[...verb.flags.map(spec)].join(' ')}${argument(verb)} ;;`).join('\n')}
      esac ;;
  esac
}
if [[ "\${funcstack[1]}" == _portolan ]]; then _portolan "$@"; else compdef _portolan portolan; fi
`;
}

function zshAction(kind: ValueKind, words: readonly string[]): string {
  if (kind === 'words') return `(${words.join(' ')})`;
  if (kind === 'directory') return '_files -/';
  // An empty list and not a message: beside a message zsh shows what matches and does not write it.
  return kind === 'file' ? '_files' : '()';
}

function zshText(text: string): string {
  return text.replaceAll("'", '’').replace(/[[\]]/g, '\\$&');
}

function fish(verbs: readonly VerbSpec[], top: readonly FlagSpec[]): string {
  const names = verbs.map(({ verb }) => verb).join(' ');
  const value = ({ kind, words }: FlagSpec): string => {
    if (kind === 'none') return '';
    if (kind === 'words') return ` -x -a '${words.join(' ')}'`;
    if (kind === 'directory') return ` -x -a '(__fish_complete_directories)'`;
    return kind === 'file' ? ' -r -F' : ' -x';
  };
  const lines = verbs.flatMap((verb) => {
    const within = `-n '__fish_seen_subcommand_from ${verb.verb}'`;
    const argument =
      verb.argument === 'words'
        ? [`complete -c portolan ${within} -a '${verb.words.join(' ')}'`]
        : verb.argument === 'directory'
          ? [`complete -c portolan ${within} -a '(__fish_complete_directories)'`]
          : verb.argument === 'file'
            ? [`complete -c portolan ${within} -F`]
            : [];
    return [
      `complete -c portolan -n 'not __fish_seen_subcommand_from ${names}' -a ${verb.verb} -d '${fishText(verb.help)}'`,
      ...argument,
      ...verb.flags.map((flag) => `complete -c portolan ${within} -l ${flag.flag.slice(2)}${value(flag)} -d '${fishText(flag.help)}'`),
    ];
  });
  return `# Completion of portolan for fish. Put it to use with: portolan completion fish | source
complete -c portolan -f
${top.map(({ flag, help }) => `complete -c portolan -n 'not __fish_seen_subcommand_from ${names}' -l ${flag.slice(2)} -d '${fishText(help)}'`).join('\n')}
${lines.join('\n')}
`;
}

function fishText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
}

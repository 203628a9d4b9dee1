# Runs a program whose netlink sockets are refused (EAFNOSUPPORT), by a seccomp filter for x86-64.
use strict;
use warnings;

my $filter = pack('(SCCL)*',
    0x20, 0, 0, 0,     # load the number of the system call
    0x15, 0, 3, 41,    # socket?
    0x20, 0, 0, 16,    # load its family
    0x15, 0, 1, 16,    # AF_NETLINK?
    0x06, 0, 0, 0x00050000 | 97,
    0x06, 0, 0, 0x7fff0000,
);
my $program = pack('Sx![P]P', length($filter) / 8, $filter);
my ($prctl, $set_seccomp, $set_no_new_privs) = (157, 22, 38);
syscall($prctl, $set_no_new_privs, 1, 0, 0, 0) == 0 or die "no_new_privs: $!";
syscall($prctl, $set_seccomp, 2, $program, 0, 0) == 0 or die "seccomp: $!";
exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!";
